"""The process that asks language models: the only code that imports litellm, the only process that uses keys.

It takes keys from its environment and tells nobody. Requests: ``ask`` {id, model, api_base, key_env, messages,
max_tokens, timeout, retries, prices, left_usd}, ``facts`` {id, model, api_base, prices}, ``cancel`` {id}. Reports:
``ready`` {seconds}, ``failed`` {detail}, ``delta`` {id, text, thinking}, ``waiting`` {id, seconds, reason},
``facts`` {id, priced, context}, ``finished`` {id, trouble, reason, finish, reply, tokens, cost, times}.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.llm.failures import Asked, Failure, explain, redacted
from workbench.llm.pricing import LEAST_REPLY, Prices, find_prices
from workbench.ranks.channel import HEADER, Message, body_length, decode, encode

if TYPE_CHECKING:
    from types import ModuleType

Send = Callable[[Message], None]
_FLUSH_S = 0.03
"""Pieces of a reply are told this often at most; the first one at once."""
_MOST_CHARACTERS = 1_000_000
_NO_DUMP = 4
"""PR_SET_DUMPABLE of prctl(2)."""


class BudgetSpent(Exception):
    """What is left does not pay for a reply."""


@dataclass
class _Answer:
    """A reply as far as it has come."""

    send: Send
    number: int
    started: float = field(default_factory=time.monotonic)
    first_token_s: float | None = None
    pieces: list[str] = field(default_factory=list)
    finish: str = ""
    usage: Any = None
    chunks: list[Any] = field(default_factory=list)
    _waiting: list[tuple[str, bool]] = field(default_factory=list)
    _told: float = 0.0
    _timer: asyncio.TimerHandle | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def take(self, text: str, thinking: bool) -> None:
        """Add a piece and tell it, together with others that come within a moment."""
        if self.first_token_s is None:
            self.first_token_s = time.monotonic() - self.started
        if not thinking:
            self.pieces.append(text)
        self._waiting.append((text, thinking))
        late = time.monotonic() - self._told - _FLUSH_S
        if late >= 0:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(-late, self.flush)

    def flush(self) -> None:
        """Tell what has not been told yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._told = time.monotonic()
        waiting, self._waiting = self._waiting, []
        for thinking in (True, False):
            text = "".join(piece for piece, kind in waiting if kind is thinking)
            if text:
                self.send({"event": "delta", "id": self.number, "text": text, "thinking": thinking})


class Proposer:
    """Requests of one parent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._jobs: dict[int, asyncio.Task[None]] = {}
        self._litellm: asyncio.Task[ModuleType]

    async def serve(self) -> None:
        """Serve until the parent's end closes."""
        self._litellm = asyncio.ensure_future(self._load())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = await self._reader.readexactly(HEADER.size)
                self._take(decode(await self._reader.readexactly(body_length(header))))

    async def _load(self) -> ModuleType:
        started = time.monotonic()
        try:
            module = await asyncio.to_thread(_import_litellm)
        except ImportError as error:
            self._send({"event": "failed", "detail": f"litellm cannot be imported: {error}"})
            raise
        self._send({"event": "ready", "seconds": time.monotonic() - started})
        return module

    def _take(self, message: Message) -> None:
        number = message["id"]
        if message["op"] == "cancel":
            if number in self._jobs:
                self._jobs[number].cancel()
            return
        serve = {"ask": self._ask, "facts": self._facts}[message["op"]]
        self._jobs[number] = asyncio.ensure_future(serve(message))
        self._jobs[number].add_done_callback(lambda task: self._jobs.pop(number, None) and None)

    async def _facts(self, message: Message) -> None:
        """What the list says; nothing where litellm cannot be loaded, which has been told already."""
        with contextlib.suppress(ImportError):
            litellm = await asyncio.shield(self._litellm)
            self._send(_known(litellm, message))

    async def _ask(self, message: Message) -> None:
        answer = _Answer(self._send, message["id"])
        failure: Failure | None = None
        litellm: ModuleType | None = None
        try:
            litellm = await asyncio.shield(self._litellm)
            failure = await self._try(litellm, message, answer)
        except asyncio.CancelledError:
            answer.finish = "cancelled"
        except BudgetSpent as error:
            failure = Failure("budget", str(error), None)
        except Exception as error:
            failure = Failure("proposer", redacted(f"the proposer failed: {type(error).__name__}: {error}"), None)
        answer.flush()
        tokens, cost = _bill(litellm, message, answer)
        self._send(
            {
                "event": "finished",
                "id": message["id"],
                "trouble": failure.trouble if failure else "",
                "reason": failure.reason if failure else "",
                "finish": answer.finish,
                "reply": answer.text,
                "tokens": tokens,
                "cost": cost,
                "seconds": time.monotonic() - answer.started,
                "first_token_s": answer.first_token_s,
            }
        )

    async def _try(self, litellm: ModuleType, message: Message, answer: _Answer) -> Failure | None:
        """Stream the reply into ``answer``, again after failures that pass; what kept it from coming."""
        options = _options(litellm, message)
        asked = Asked(message["model"], _key_words(litellm, message), message["timeout"])
        for tries in range(message["retries"] + 1):
            try:
                await _stream(litellm, options, message["timeout"], answer)
                return None
            except Exception as error:
                failure = explain(error, asked, tries, message["retries"])
            if answer.first_token_s is not None:
                answer.finish = "broken"
                return failure
            if failure.wait is None:
                return failure
            waiting = {"id": message["id"], "seconds": failure.wait, "reason": failure.reason}
            self._send({"event": "waiting", **waiting})
            await asyncio.sleep(failure.wait)
        return failure

    def _send(self, message: Message) -> None:
        if not self._writer.is_closing():
            self._writer.write(encode(message))


async def _stream(litellm: ModuleType, options: dict[str, Any], timeout: float, answer: _Answer) -> None:
    response = await asyncio.wait_for(litellm.acompletion(**options), timeout)
    pieces = response.__aiter__()
    count = 0
    while True:
        try:
            chunk = await asyncio.wait_for(pieces.__anext__(), timeout)
        except StopAsyncIteration:
            return
        answer.chunks.append(chunk)
        answer.usage = getattr(chunk, "usage", None) or answer.usage
        for choice in chunk.choices[:1]:
            answer.finish = choice.finish_reason or answer.finish
            for name, thinking in (("reasoning_content", True), ("content", False)):
                text = getattr(choice.delta, name, None)
                if text:
                    answer.take(text, thinking)
                    count += len(text)
        if count > _MOST_CHARACTERS:
            answer.finish = "length"
            return


def _options(litellm: ModuleType, message: Message) -> dict[str, Any]:
    """The arguments of the completion; BudgetSpent where what is left pays for no reply."""
    listed = _listed(litellm, message)
    options = {
        "model": _model(litellm, message),
        "messages": message["messages"],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": _longest(litellm, message, listed),
        "max_retries": 0,
        "num_retries": 0,
        "timeout": message["timeout"],
    }
    key = _key(litellm, message)
    return {
        **options,
        **({"api_base": message["api_base"]} if message["api_base"] else {}),
        **({"api_key": key} if key else {}),
    }


def _longest(litellm: ModuleType, message: Message, listed: dict[str, Any]) -> int:
    most = min(message["max_tokens"], listed.get("max_output_tokens") or message["max_tokens"])
    if message["left_usd"] is None:
        return int(most)
    sent = litellm.token_counter(model=message["model"], messages=message["messages"])
    paid = _prices(message, listed).longest_reply(sent, message["left_usd"])
    if paid < LEAST_REPLY:
        raise BudgetSpent(f"${message['left_usd']:.4f} of the budget are left, which does not pay for another reply")
    return int(min(most, paid))


def _model(litellm: ModuleType, message: Message) -> str:
    """The model's name; at an address of the user's own, one without a provider is an OpenAI-compatible one."""
    name: str = message["model"]
    if not message["api_base"]:
        return name
    try:
        litellm.get_llm_provider(name)
    except Exception:
        return f"openai/{name}"
    return name


def _key(litellm: ModuleType, message: Message) -> str:
    """The key for an address of the user's own; empty where litellm finds the provider's by itself."""
    if message["key_env"]:
        return os.environ.get(message["key_env"], "")
    own_server = message["api_base"] and _model(litellm, message).startswith("openai/")
    return "none" if own_server and not os.environ.get("OPENAI_API_KEY") else ""


def _key_words(litellm: ModuleType, message: Message) -> str:
    if message["key_env"]:
        return str(message["key_env"])
    try:
        found = litellm.validate_environment(model=_model(litellm, message))
        missing = " or ".join(found.get("missing_keys") or ())
    except Exception:
        missing = ""
    return missing or "the provider's key in the environment"


def _listed(litellm: ModuleType, message: Message) -> dict[str, Any]:
    """What litellm's list says of a model; empty for one that it does not have."""
    try:
        return dict(litellm.get_model_info(message["model"]))
    except Exception:
        return {}


def _known(litellm: ModuleType, message: Message) -> Message:
    listed = _listed(litellm, message)
    priced = _prices(message, listed).known
    return {"event": "facts", "id": message["id"], "priced": priced, "context": listed.get("max_input_tokens")}


def _prices(message: Message, listed: dict[str, Any]) -> Prices:
    given_in, given_out = message["prices"]
    return find_prices((given_in, given_out), listed)


def _bill(litellm: ModuleType | None, message: Message, answer: _Answer) -> tuple[tuple[int, int], float | None]:
    """Tokens sent and replied, and their cost: the provider's own count, an estimate where it gave none."""
    if litellm is None or (answer.first_token_s is None and answer.usage is None):
        return (0, 0), 0.0
    prices = _prices(message, _listed(litellm, message))
    if answer.usage is None:
        sent = litellm.token_counter(model=message["model"], messages=message["messages"])
        replied = litellm.token_counter(model=message["model"], text=answer.text)
        return (sent, replied), prices.cost(sent, replied)
    tokens = (int(answer.usage.prompt_tokens or 0), int(answer.usage.completion_tokens or 0))
    if max(message["prices"]) >= 0:
        return tokens, prices.cost(*tokens)
    try:
        # Knows what cached tokens cost.
        whole = litellm.stream_chunk_builder(answer.chunks)
        return tokens, float(litellm.completion_cost(completion_response=whole, model=message["model"]))
    except Exception:
        return tokens, prices.cost(*tokens)


def _import_litellm() -> ModuleType:
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = True
    return litellm


def _hide() -> None:
    """Keep other processes of this user from reading the environment or memory of this one, where Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_NO_DUMP, 0, 0, 0, 0)


async def _serve(fd: int) -> None:
    reader, writer = await asyncio.open_unix_connection(sock=socket.socket(fileno=fd))
    await Proposer(reader, writer).serve()


def main(fd: int) -> None:
    """Run the process until its parent's end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _hide()
    asyncio.run(_serve_and_leave(fd))


async def _serve_and_leave(fd: int) -> None:
    await _serve(fd)
    os._exit(0)  # nothing waits for a half-done import
