"""The process that asks language models: the only code that imports litellm, the only process that uses keys.

It takes keys from its environment and tells nobody. Requests: ``ask`` {id, model, api_base, key_env, messages,
max_tokens, timeout, retries, prices, left_usd}, ``facts`` {id, model, api_base, prices}, ``cancel`` {id}. Reports:
``ready`` {seconds}, ``failed`` {detail}, ``delta`` {id, text, thinking}, ``waiting`` {id, seconds, reason},
``facts`` {id, priced, context}, ``finished`` {id, trouble, reason, finish, reply, thought, called, tokens, cost,
times}.
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
from typing import TYPE_CHECKING, Any

from workbench.llm.answer import Answer
from workbench.llm.failures import Failure, explain, redacted, secrets_of
from workbench.llm.request import BudgetSpent, Request, Tokens
from workbench.ranks.channel import HEADER, Message, body_length, decode, encode

if TYPE_CHECKING:
    from types import ModuleType

_NO_DUMP = 4
"""PR_SET_DUMPABLE of prctl(2)."""
_SHORTEST_IN_REPLY = 12
"""A secret of so many characters is taken out of a reply too; shorter ones may be code."""
_MOST_WORDS = 400


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
            await _rehearse(module)
        except Exception as error:
            words = redacted(f"litellm cannot be imported: {error}")
            self._send({"event": "failed", "detail": words})
            raise ImportError(words) from None
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
        self._jobs[number].add_done_callback(lambda task: self._done(number))

    def _done(self, number: int) -> None:
        self._jobs.pop(number, None)

    async def _facts(self, message: Message) -> None:
        """What the list says; nothing where litellm cannot be loaded, which has been told already."""
        with contextlib.suppress(ImportError):
            request = Request(await asyncio.shield(self._litellm), message)
            context = request.listed.get("max_input_tokens")
            self._send({"event": "facts", "id": message["id"], "priced": request.prices.known, "context": context})

    async def _ask(self, message: Message) -> None:
        """Answer a request, whatever happens."""
        answer = Answer(self._send, message["id"], secrets_of(message["key_env"], _SHORTEST_IN_REPLY))
        failure: Failure | None = None
        request: Request | None = None
        try:
            litellm = await asyncio.shield(self._litellm)
            request = Request(litellm, message)
            failure = await self._try(litellm, request, message, answer)
        except asyncio.CancelledError:
            answer.finish = "cancelled"
        except BudgetSpent as error:
            failure = Failure("budget", str(error), None)
        except Exception as error:
            words = redacted(f"the proposer failed: {type(error).__name__}: {error}", message["key_env"])
            failure = Failure("proposer", words[:_MOST_WORDS], None)
        answer.flush(last=True)
        self._send(_finished(answer, failure, request, message["key_env"]))

    async def _try(self, litellm: ModuleType, request: Request, message: Message, answer: Answer) -> Failure | None:
        """Stream the reply into ``answer``, again after failures that pass; what kept it from coming."""
        options, asked, tries = request.options(), request.asked(), 0
        while True:
            try:
                await _stream(litellm, options, answer)
                return None
            except Exception as error:
                failure = explain(error, asked, tries, message["retries"])
            if answer.first_token_s is not None:
                answer.finish = "broken"
                return failure
            if "stream_options" in failure.reason and options.pop("stream_options", None):
                continue  # an older server that counts no tokens
            if failure.wait is None:
                return failure
            waiting = {"id": message["id"], "seconds": failure.wait, "reason": failure.reason}
            self._send({"event": "waiting", **waiting})
            await asyncio.sleep(failure.wait)
            tries += 1

    def _send(self, message: Message) -> None:
        if not self._writer.is_closing():
            self._writer.write(encode(message))


async def _stream(litellm: ModuleType, options: dict[str, Any], answer: Answer) -> None:
    """Take the reply; TimeoutError when no text has come for the request's time, whatever else comes."""
    timeout = options["timeout"]
    response = await asyncio.wait_for(litellm.acompletion(**options), timeout)
    try:
        await _take_all(response, timeout, answer)
    finally:
        # Else a model whose reply is not wanted any more goes on writing.
        with contextlib.suppress(Exception):
            await response.aclose()


async def _take_all(response: Any, timeout: float, answer: Answer) -> None:
    pieces, heard = response.__aiter__(), time.monotonic()
    while not answer.full:
        left = heard + timeout - time.monotonic()
        try:
            if answer.take(await asyncio.wait_for(pieces.__anext__(), max(0.0, left))):
                heard = time.monotonic()
        except StopAsyncIteration:
            return
    answer.finish = "length"


def _finished(answer: Answer, failure: Failure | None, request: Request | None, key_env: str) -> Message:
    tokens, cost = _bill(request, answer)
    return {
        "event": "finished",
        "id": answer.number,
        "trouble": failure.trouble if failure else "",
        "reason": failure.reason if failure else "",
        "finish": answer.finish,
        "reply": redacted(answer.text, key_env, _SHORTEST_IN_REPLY),
        "thought": bool(answer.thinking),
        "called": answer.called,
        "tokens": tokens,
        "cost": cost,
        "seconds": time.monotonic() - answer.started,
        "first_token_s": answer.first_token_s,
    }


def _bill(request: Request | None, answer: Answer) -> tuple[Tokens, float | None]:
    """Tokens and cost; none where they cannot be counted."""
    if request is None:
        return (0, 0), 0.0
    try:
        return request.bill(answer)
    except Exception:
        return (0, 0), None


def _import_litellm() -> ModuleType:
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = True
    litellm.disable_hf_tokenizer_download = True
    return litellm


async def _rehearse(litellm: ModuleType) -> None:
    """Stream a reply from nowhere: litellm imports the rest of itself at its first. What goes wrong is told later."""
    asked = {"messages": [{"role": "user", "content": "?"}], "mock_response": "a reply", "stream": True}
    with contextlib.suppress(Exception):
        async for _piece in await litellm.acompletion(model="openai/rehearsal", **asked):
            pass


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
