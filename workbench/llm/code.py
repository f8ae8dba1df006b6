"""The file that a reply proposes: its last whole block of code that defines ``solution``."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from workbench.events import ProposalOutcome

_FENCE = re.compile(r"^(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)$", re.MULTILINE)
_SOLUTION = re.compile(r"^(?:async +)?def +solution\b|^solution *=|^from .* import .*\bsolution\b", re.MULTILINE)
_OTHER = frozenset({"cuda", "cpp", "c++", "c", "cu", "bash", "sh", "shell", "console", "text", "diff", "json", "toml"})
"""Languages of blocks that are no Python file, whatever they hold."""
_NO_CODE = "The reply has no block of code with a Python file that defines solution(...)."
_CUT = "The reply ends inside its code: it was cut off."
_OPEN = "The reply ends inside a block of code that was not closed."


@dataclass(frozen=True)
class Found:
    """What a reply proposes; ``reason`` says what is wrong where ``outcome`` is not ``code``."""

    outcome: ProposalOutcome
    code: str = ""
    reason: str = ""


@dataclass(frozen=True)
class _Block:
    language: str
    text: str
    closed: bool


def find_code(reply: str, finish: str) -> Found:
    """The proposed file. ``finish`` is the provider's reason of the end: ``stop``, ``length``, ``broken``."""
    reply = reply.replace("\r\n", "\n")
    blocks = _blocks(reply)
    cut = finish in ("length", "broken")
    open_block = next((block for block in blocks if not block.closed), None)
    if open_block is not None and _is_file(open_block):
        whole = not cut and _parses(open_block.text)
        return Found("code", open_block.text) if whole else Found("cut-off", reason=_CUT if cut else _OPEN)
    files = [block for block in blocks if block.closed and _is_file(block)]
    if files:
        return Found("code", files[-1].text)
    if not blocks and _SOLUTION.search(reply) and _parses(reply):
        return Found("cut-off", reason=_CUT) if cut else Found("code", _ended(reply))
    return Found("cut-off", reason=_CUT) if cut else Found("no-code", reason=_NO_CODE)


def _blocks(reply: str) -> list[_Block]:
    """The fenced blocks in order; the last one may be open."""
    blocks: list[_Block] = []
    place = 0
    while opening := _FENCE.search(reply, place):
        closing = _closing(reply, opening)
        end = closing.start() if closing else len(reply)
        text = reply[opening.end() + 1 : end]
        indent = len(opening["indent"])
        language = (opening["info"].split() or [""])[0].lower().strip("{}.")
        blocks.append(_Block(language, _ended(_unindented(text, indent)), closing is not None))
        if closing is None:
            return blocks
        place = closing.end()
    return blocks


def _closing(reply: str, opening: re.Match[str]) -> re.Match[str] | None:
    """The fence that closes a block: of the same character, as long or longer, with nothing behind it."""
    mark = opening["fence"]
    pattern = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
    return pattern.search(reply, min(opening.end() + 1, len(reply)))


def _is_file(block: _Block) -> bool:
    return block.language not in _OTHER and _SOLUTION.search(block.text) is not None


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _unindented(text: str, indent: int) -> str:
    return re.sub(rf"^ {{0,{indent}}}", "", text, flags=re.MULTILINE) if indent else text


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"
