"""The file that a reply proposes."""

from __future__ import annotations

import pytest

from tests.llm.server import fenced
from workbench.llm.code import find_code

GOOD = "import torch\n\n\ndef solution(tensor):\n    return tensor\n"
OTHER = GOOD.replace("return tensor", "return tensor.clone()")
HELPER = "def helper():\n    return 1\n"

WHOLE = {
    "one block": (fenced(GOOD), GOOD),
    "the last of two files": (fenced(OTHER) + "or rather\n" + fenced(GOOD), GOOD),
    "a helper after the file": (fenced(GOOD) + "where the helper is\n" + fenced(HELPER), GOOD),
    "no language": (fenced(GOOD, language=""), GOOD),
    "kernel text beside it": (fenced("__global__ void solution();", language="cuda") + fenced(GOOD), GOOD),
    "tildes": (f"~~~python\n{GOOD}~~~\n", GOOD),
    "longer fence around a fence": (f"````python\n{GOOD}# ```\n````\n", f"{GOOD}# ```\n"),
    "indented in a list": (
        "- so:\n\n  ```python\n" + "".join(f"  {line}\n" for line in GOOD.splitlines()) + "  ```\n",
        GOOD,
    ),
    "Windows line ends": (fenced(GOOD).replace("\n", "\r\n"), GOOD),
    "no fence at all": (GOOD, GOOD),
    "last fence forgotten": (f"```python\n{GOOD}", GOOD),
    "solution made by a decorator": (fenced("solution = make()\n"), "solution = make()\n"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_file(name: str) -> None:
    """The last whole block that defines solution is the proposal, letter by letter."""
    reply, code = WHOLE[name]
    found = find_code(reply, "stop")
    assert (found.outcome, found.code) == ("code", code)


NOT_WHOLE = {
    "words": ("I cannot do that.", "stop", "no-code"),
    "nothing": ("", "stop", "no-code"),
    "a helper alone": (fenced(HELPER), "stop", "no-code"),
    "a diff": (fenced("-def solution(t):\n+def solution(x):\n", language="diff"), "stop", "no-code"),
    "open block that does not parse": ("```python\ndef solution(tensor:\n", "stop", "cut-off"),
    "out of tokens inside the block": (f"```python\n{GOOD}", "length", "cut-off"),
    "out of tokens before any block": ("Let me think about", "length", "cut-off"),
    "connection lost": (f"```python\n{GOOD}", "broken", "cut-off"),
    "earlier file, then cut off in a newer one": (fenced(OTHER) + f"better:\n```python\n{GOOD}", "length", "cut-off"),
}


@pytest.mark.parametrize("name", NOT_WHOLE)
def test_no_whole_file(name: str) -> None:
    """A reply without a whole file proposes nothing, and says whether it was cut off."""
    reply, finish, outcome = NOT_WHOLE[name]
    found = find_code(reply, finish)
    assert (found.outcome, found.code) == (outcome, "")
    assert found.reason


def test_cut_off_after_the_file() -> None:
    """A file that was closed before the tokens ran out is whole."""
    assert find_code(fenced(GOOD) + "This is because", "length").code == GOOD
