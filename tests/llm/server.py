"""An OpenAI-compatible server on loopback that answers what a script says: well, badly, slowly or not at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-loopback-canary-0123456789abcdef"
"""The only key that the server takes, where a test asks for one."""


@dataclass(frozen=True)
class Reply:
    """One answer: streamed text, or an HTTP error with ``body``.

    ``cut_after`` closes the connection after so many pieces, ``wait_after`` waits there until the server's ``go`` is
    set; ``finish`` is the reason of the end, ``raw`` goes out in place of the pieces as it is.
    """

    text: str = ""
    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    thinking: str = ""
    finish: str = "stop"
    cut_after: int | None = None
    wait_after: int | None = None
    raw: str = ""
    tokens: tuple[int, int] = (1000, 500)
    """Tokens in and out that the usage claims."""
    empty: int = 0
    """Pieces without text that come first."""
    called: bool = False
    """Whether a call of a tool comes before the text."""
    piece: int = 20
    """Characters of a streamed piece."""
    pause: float = 0.0
    """Seconds between pieces, as of a model that writes slowly."""


def error(status: int, message: str, code: str = "", **headers: str) -> Reply:
    """An error as OpenAI words it."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code or None}}
    return Reply(status=status, body=json.dumps(body), headers=headers)


RATE_LIMITED = error(429, "Rate limit reached for requests", "rate_limit_exceeded", **{"Retry-After": "0"})
WRONG_KEY = error(401, f"Incorrect API key provided: {KEY}.", "invalid_api_key")
OVERFLOW = error(
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "context_length_exceeded",
)
NO_MODEL = error(404, "The model `nothing` does not exist", "model_not_found")
BROKEN = error(500, "The server had an error while processing your request")


def fenced(code: str, before: str = "Here it is.", language: str = "python") -> str:
    """A reply with one block of code."""
    return f"{before}\n\n```{language}\n{code.rstrip()}\n```\n"


class Server:
    """Gives one reply of the script after another, the last one again and again."""

    def __init__(self, replies: Sequence[Reply | str]) -> None:
        self._script = [Reply(reply) if isinstance(reply, str) else reply for reply in replies]
        self.requests: list[dict[str, Any]] = []
        """Bodies of the requests, in order."""
        self.keys: list[str] = []
        """What each request sent as authorization."""
        self.go = threading.Event()
        self.waiting = threading.Event()
        self.gone = threading.Event()
        """Set when a client left before the end of its reply."""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The base address, as ``llm.api_base`` takes it."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def script(self, *replies: Reply | str) -> None:
        """Give these replies from now on."""
        self._script = [Reply(reply) if isinstance(reply, str) else reply for reply in replies]
        self.go.clear()
        self.waiting.clear()
        self.gone.clear()

    def take(self, request: dict[str, Any], key: str) -> Reply:
        """The reply to a request."""
        self.requests.append(request)
        self.keys.append(key)
        return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    def close(self) -> None:
        """Stop serving."""
        self.go.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextmanager
def serving(*replies: Reply | str) -> Iterator[Server]:
    """A server with this script."""
    server = Server(replies)
    try:
        yield server
    finally:
        server.close()


def _handler(server: Server) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = server.take(request, self.headers.get("Authorization", ""))
            try:
                self._answer(reply, request)
            except (BrokenPipeError, ConnectionResetError):
                server.gone.set()

        def _answer(self, reply: Reply, request: dict[str, Any]) -> None:
            plain = reply.status != 200 or reply.body
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json" if plain else "text/event-stream")
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if plain:
                self.wfile.write(reply.body.encode())
                return
            for place, line in enumerate(_lines(reply, request)):
                if place == reply.wait_after:
                    server.waiting.set()
                    _wait(server, self)
                if place == reply.cut_after:
                    return
                self.wfile.write(line.encode())
                self.wfile.flush()
                time.sleep(reply.pause)

        def log_message(self, *arguments: Any) -> None:
            """Say nothing."""

    return Handler


def _wait(server: Server, handler: BaseHTTPRequestHandler) -> None:
    """Until ``go``; a comment line now and then finds out whether the client is still there."""
    while not server.go.wait(0.02):
        handler.wfile.write(b": waiting\n\n")
        handler.wfile.flush()


def _lines(reply: Reply, request: dict[str, Any]) -> Iterator[str]:
    if reply.raw:
        yield reply.raw
        return
    for _ in range(reply.empty):
        yield _event(request, [_choice({"content": ""})])
    if reply.called:
        call = {"index": 0, "id": "call-1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        yield _event(request, [_choice({"tool_calls": [call]})])
    for name, text in (("reasoning_content", reply.thinking), ("content", reply.text)):
        for start in range(0, len(text), reply.piece):
            yield _event(request, [_choice({name: text[start : start + reply.piece]})])
    yield _event(request, [_choice({}, reply.finish)])
    if request.get("stream_options", {}).get("include_usage"):
        given, made = reply.tokens
        usage = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
        yield _event(request, [], usage=usage)
    yield "data: [DONE]\n\n"


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}


def _event(request: dict[str, Any], choices: list[dict[str, Any]], **more: Any) -> str:
    head = {"id": "reply-1", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
    return f"data: {json.dumps({**head, 'choices': choices, **more})}\n\n"
