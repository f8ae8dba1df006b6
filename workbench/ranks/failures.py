"""An exception in the user's file as plain data: its kind, message, the line in that file, and a short traceback."""

from __future__ import annotations

import traceback
from types import TracebackType

from workbench.ranks.channel import Message

_MAX_TYPE = 200
_MAX_TEXT = 16_000
_MAX_MESSAGE = 2_000
_PEER_GONE = (
    "connection closed by peer",
    "connection reset",
    "connection refused",
    "broken pipe",
    "remote process exited",
)


def failure(error: BaseException, path: str) -> Message:
    """Describe ``error``: {type, message, line, column, text, secondary}; line 0: no frame is in the user's file."""
    line, column = _place(error, path)
    message = str(error).strip() or type(error).__name__
    if isinstance(error, SystemExit):
        message = f"the file called exit({error.code!r})"
    if isinstance(error, SyntaxError):
        message = error.msg or message
    return {
        "type": type(error).__name__[:_MAX_TYPE],
        "message": message[:_MAX_MESSAGE],
        "line": line,
        "column": column,
        "text": _text(error, path)[-_MAX_TEXT:],
        "secondary": _lost_peer(error),
    }


def read_failure(value: object) -> Message:
    """A failure that a rank sent, made to hold what ``failure`` promises, whatever the rank made of it."""
    given = value if isinstance(value, dict) else {}
    return {
        "type": str(given.get("type", "error"))[:_MAX_TYPE],
        "message": str(given.get("message", "")).strip()[:_MAX_MESSAGE] or "no message",
        "line": _count(given.get("line")),
        "column": _count(given.get("column")),
        "text": str(given.get("text", ""))[-_MAX_TEXT:],
        "secondary": given.get("secondary") is True,
    }


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value < 1 << 31 else 0


def _lost_peer(error: BaseException) -> bool:
    """Whether this is a collective that failed because another rank went away first."""
    return isinstance(error, RuntimeError) and any(mark in str(error).lower() for mark in _PEER_GONE)


def _place(error: BaseException, path: str) -> tuple[int, int]:
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno or 0, error.offset or 0
    lines = [lineno for frame, lineno in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
    return (lines[-1], 0) if lines else (0, 0)


def _text(error: BaseException, path: str) -> str:
    """The traceback from the user's first frame on; nothing where no frame and no line of the user's file is in it."""
    trace = _from_user(error.__traceback__, path)
    if trace is None and not isinstance(error, SyntaxError):
        return ""
    return "".join(traceback.format_exception(type(error), error, trace))


def _from_user(trace: TracebackType | None, path: str) -> TracebackType | None:
    start = trace
    while start is not None and start.tb_frame.f_code.co_filename != path:
        start = start.tb_next
    return start
