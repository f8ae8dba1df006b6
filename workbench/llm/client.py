"""The parent's side of the proposer: start it, ask, stream what comes as events, cancel. Never blocks the loop."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from workbench.config import LlmSettings
from workbench.errors import ProposerError, SettingsError
from workbench.events import (
    EventStream,
    ProposalDelta,
    ProposalFinished,
    ProposalOutcome,
    ProposalStarted,
    ProposalWaiting,
    ProposerChanged,
)
from workbench.flow.wire import Wire
from workbench.flow.zygote import ended
from workbench.llm.code import Found, find_code
from workbench.llm.failures import redacted
from workbench.ranks.channel import Message

Messages = list[dict[str, str]]
"""A conversation as providers take it: ``role`` (system, user, assistant) and ``content`` of each message."""
_ROOT = Path(__file__).resolve().parents[2]
_BOOT = "import sys; sys.path[:] = {path!r}; from workbench.llm.proposer import main; main({fd})"
_OWN_VARIABLES = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # the price list that came with it, not one from the network
    "LITELLM_MODE": "PRODUCTION",  # no .env file is read
    "LITELLM_LOG": "CRITICAL",
}
_LONGEST = 64 << 20
_LAST_BYTES = 4096
_LOADING_S = 120.0
"""Longest silence of the process that asks models beside the time that a model may take."""
_STOP_S = 10.0
"""Time for ending a request that was cancelled."""
_STUCK = "it did not answer any more"
_THOUGHT = "The reply has no answer, its tokens went into thinking: raise llm.max_tokens, or take another model."
_CALLED = "The model called a tool instead of answering, and none is offered: take one that answers in text."
_EMPTY = "The reply is empty: check that {place} is an OpenAI-compatible server and serves {model}."


@dataclass(frozen=True)
class Facts:
    """What is known of a model before it is asked."""

    priced: bool
    """Whether its cost can be worked out, so that a budget holds."""
    context: int | None
    """Tokens of the longest conversation; None = not known."""


@dataclass
class _Job:
    answered: asyncio.Future[Message]
    proposal: int
    """The number of the proposal that is asked for; 0 for what is asked of litellm itself."""
    stream: EventStream
    """Where pieces of the reply are told."""
    heard: float
    """When something was heard of it last, in the event loop's time; later where it has said that it waits."""
    stopping: asyncio.TimerHandle | None = None
    """Set once it was cancelled: ends a process that does not end the request."""


@dataclass
class ModelClient:
    """Asks the model of the settings in a process of its own, which is started by the first request or :meth:`warm`."""

    settings: LlmSettings
    stream: EventStream
    _numbers: itertools.count[int] = field(init=False, default_factory=lambda: itertools.count(1))
    """Numbers of proposals; those of requests differ, since they never begin anew."""
    _requests: itertools.count[int] = field(init=False, default_factory=lambda: itertools.count(1))
    _state: ProposerChanged | None = field(init=False, default=None)
    """What was told of the process last."""
    _jobs: dict[int, _Job] = field(init=False, default_factory=dict)
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    _wire: Wire | None = field(init=False, default=None)
    _log: IO[bytes] | None = field(init=False, default=None)
    _buried: asyncio.Task[None] | None = field(init=False, default=None)

    def warm(self) -> None:
        """Start the process, which loads litellm in the background; nothing where it runs already.

        SettingsError where no model is named or the address holds a password, ProposerError where it cannot be started.
        """
        _check(self.settings)
        if self._wire is not None:
            return
        self._tell(ProposerChanged(state="loading"))
        self._wire = Wire(self._message, self._closed, _LONGEST)
        try:
            self._process = self._spawn(self._wire.far_end())
        except OSError as error:
            self._wire.close()
            self._wire = None
            raise ProposerError(f"the process that asks models cannot be started: {error.strerror}") from None
        self._wire.release_far_end()

    def move(self, stream: EventStream) -> None:
        """Tell another stream from now on, what state the process is in first; proposals count from 1 again.

        Nothing may be asked for at that moment.
        """
        self.stream, self._numbers = stream, itertools.count(1)
        if self._state is not None:
            stream.emit(self._state)

    async def facts(self) -> Facts:
        """What is known of the model. Errors as :meth:`warm`, ProposerError when the process ends."""
        found = await self._order({"op": "facts", **self._about()})
        if found["event"] != "facts":
            raise ProposerError(found["reason"])
        return Facts(found["priced"], found["context"])

    async def ask(self, messages: Messages, left_usd: float | None = None) -> ProposalFinished:
        """The reply to a conversation, streamed as events meanwhile. ``left_usd`` is what it may cost.

        Cancelled, it ends the request and tells so. What goes wrong is told in the result; errors as :meth:`warm`.
        """
        self.warm()
        number = next(self._numbers)
        model = self.settings.model
        sent = _new_to_model(messages)
        self.stream.emit(ProposalStarted(proposal=number, model=model, sent=sent, prompt=prompt_digest(messages)))
        limits = {name: getattr(self.settings, name) for name in ("max_tokens", "timeout", "retries")}
        order = {"op": "ask", **self._about(), **limits, "messages": messages, "left_usd": left_usd}
        answer = await self._order(order, number)
        finished = self._finished(number, answer)
        self.stream.emit(finished)
        return finished

    def cancel(self) -> None:
        """End all requests; each is told as cancelled, with what had come."""
        for request in self._jobs:
            self._send({"op": "cancel", "id": request})

    async def close(self) -> None:
        """End the process."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        self._end_jobs("closed")
        process, self._process = self._process, None
        if process is not None:
            await ended(process)
        if self._buried is not None:
            await self._buried
        self._drop_log()

    def _about(self) -> Message:
        settings = self.settings
        prices = (settings.input_price, settings.output_price)
        return {"model": settings.model, "api_base": settings.api_base, "key_env": settings.key_env, "prices": prices}

    async def _order(self, order: Message, proposal: int = 0) -> Message:
        self.warm()
        loop, request = asyncio.get_running_loop(), next(self._requests)
        job = self._jobs[request] = _Job(loop.create_future(), proposal, self.stream, loop.time())
        self._send({**order, "id": request})
        try:
            return await self._answer(job)
        except asyncio.CancelledError:
            self._cancelled(request, job)
            raise
        finally:
            if job.stopping is None:
                self._jobs.pop(request, None)

    async def _answer(self, job: _Job) -> Message:
        """What comes of a request; a process that is silent for longer than it can have a reason for is ended."""
        loop, patience = asyncio.get_running_loop(), _LOADING_S + 2 * self.settings.timeout
        while not job.answered.done():
            left = job.heard + patience - loop.time()
            if left <= 0:
                self._give_up(_STUCK)
            await asyncio.wait({job.answered}, timeout=max(0.0, left))
        return job.answered.result()

    def _cancelled(self, request: int, job: _Job) -> None:
        """It is told at once; what it has cost when the process says so."""
        self._send({"op": "cancel", "id": request})
        if job.proposal and self._wire is not None:
            job.stopping = asyncio.get_running_loop().call_later(_STOP_S, self._give_up, _STUCK)
        if job.proposal:
            self._tell_cancelled(job, _no_answer(""))

    def _tell_cancelled(self, job: _Job, answer: Message) -> None:
        if job.stream is self.stream:
            self.stream.emit(self._finished(job.proposal, {**answer, "finish": "cancelled"}))

    def _spawn(self, fd: int) -> subprocess.Popen[bytes]:
        path = [*(entry for entry in sys.path if entry), str(_ROOT)]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  it is read when the process has ended
        return subprocess.Popen(
            [sys.executable, "-I", "-c", _BOOT.format(path=path, fd=fd)],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=(fd,),
            env={**os.environ, **_OWN_VARIABLES},
            start_new_session=True,
        )

    def _send(self, message: Message) -> None:
        if self._wire is not None:
            self._wire.send(message)

    def _message(self, message: Message) -> None:
        event = message["event"]
        if event == "ready":
            self._tell(ProposerChanged(state="ready", elapsed_s=message["seconds"]))
        elif event == "failed":
            self._give_up(f"{message['detail']}; install litellm beside pkwb")
        elif message["id"] in self._jobs:
            job = self._jobs[message["id"]]
            job.heard = asyncio.get_running_loop().time()
            if job.stopping is None:
                _TOLD.get(event, ModelClient._answered)(self, job, message)
            elif event == "finished":
                self._stopped(message)

    def _stopped(self, message: Message) -> None:
        """A request that was cancelled has ended: only now it is known what it has cost."""
        job = self._jobs.pop(message["id"])
        if job.stopping is not None:
            job.stopping.cancel()
        if any(message["tokens"]):
            self._tell_cancelled(job, message)

    def _tell(self, event: ProposerChanged) -> None:
        self._state = event
        self.stream.emit(event)

    def _give_up(self, reason: str) -> None:
        """End a process that cannot work; the next request starts a new one."""
        if self._wire is not None:
            self._wire.close()
        self._closed(reason)

    def _delta(self, job: _Job, message: Message) -> None:
        self.stream.emit(ProposalDelta(proposal=job.proposal, text=message["text"], thinking=message["thinking"]))

    def _waiting(self, job: _Job, message: Message) -> None:
        job.heard += message["seconds"]
        seconds, reason = message["seconds"], message["reason"]
        self.stream.emit(ProposalWaiting(proposal=job.proposal, seconds=seconds, reason=reason))

    def _answered(self, job: _Job, message: Message) -> None:
        if not job.answered.done():
            job.answered.set_result(message)

    def _finished(self, number: int, answer: Message) -> ProposalFinished:
        outcome, found = self._outcome(answer)
        tokens_in, tokens_out = answer["tokens"]
        return ProposalFinished(
            proposal=number,
            model=self.settings.model,
            outcome=outcome,
            trouble=answer["trouble"] if outcome == "error" else "",
            reason=found.reason,
            reply=answer["reply"],
            code=found.code,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=answer["cost"],
            seconds=answer["seconds"],
            first_token_s=answer["first_token_s"],
        )

    def _outcome(self, answer: Message) -> tuple[ProposalOutcome, Found]:
        if answer["finish"] == "cancelled":
            return "cancelled", Found("cancelled", reason="cancelled")
        if answer["trouble"] and not answer["reply"]:
            return "error", Found("error", reason=answer["reason"])
        found = find_code(answer["reply"], answer["finish"])
        if not answer["reply"].strip():
            found = dataclasses.replace(found, reason=self._empty(answer))
        elif found.outcome == "cut-off" and answer["trouble"]:
            found = dataclasses.replace(found, reason=f"The reply broke off: {answer['reason']}")
        return found.outcome, found

    def _empty(self, answer: Message) -> str:
        if answer["called"]:
            return _CALLED
        place = self.settings.api_base or "the provider"
        thought = answer["thought"] or answer["finish"] == "length"
        return _THOUGHT if thought else _EMPTY.format(place=place, model=self.settings.model)

    def _closed(self, reason: str) -> None:
        self._wire = None
        process, self._process = self._process, None
        if process is not None:
            self._buried = asyncio.ensure_future(ended(process))
        words = redacted(reason if reason == _STUCK else self._last_words() or reason, self.settings.key_env)
        self._tell(ProposerChanged(state="gone", detail=words))
        self._end_jobs(f"the process that asks models has ended ({words}); the next request starts it anew")
        self._drop_log()

    def _end_jobs(self, reason: str) -> None:
        for request, job in tuple(self._jobs.items()):
            if job.stopping is not None:
                job.stopping.cancel()
                del self._jobs[request]
            elif not job.answered.done():
                job.answered.set_result(_no_answer(reason))

    def _last_words(self) -> str:
        if self._log is None:
            return ""
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - _LAST_BYTES))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def _drop_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None


_TOLD: dict[str, Any] = {"delta": ModelClient._delta, "waiting": ModelClient._waiting}


def _check(settings: LlmSettings) -> None:
    if not settings.model:
        raise SettingsError("no model is named: give --model PROVIDER/MODEL, or set llm.model")
    if "@" in urllib.parse.urlsplit(settings.api_base).netloc:
        raise SettingsError("llm.api_base holds a password, and is kept: put it into a variable, named by llm.key_env")


def prompt_digest(messages: Messages) -> str:
    """Hex SHA-256 of a whole conversation."""
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()


def _new_to_model(messages: Sequence[dict[str, str]]) -> str:
    """What follows the model's last reply, as one text."""
    replies = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    first = replies[-1] + 1 if replies else 0
    return "\n\n".join(message["content"] for message in messages[first:])


def _no_answer(reason: str) -> Message:
    nothing = {
        "finish": "",
        "reply": "",
        "tokens": (0, 0),
        "cost": 0.0,
        "seconds": 0.0,
        "first_token_s": None,
        "thought": False,
    }
    return {"event": "finished", "trouble": "proposer", "reason": reason, **nothing}
