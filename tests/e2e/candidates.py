"""Candidates for problem 1 on two ranks: what a user's file may do, well or badly."""

from __future__ import annotations

from tests.flow.candidates import GOOD, with_end, with_middle


def good(name: str) -> str:
    """A right answer; ``name`` makes its text its own."""
    return f"# {name}\n{GOOD}"


WRONG_ON_1 = with_end("out[3, 5] += rank\nreturn out")
SEGFAULT_ON_1 = with_middle("if rank == 1:\n    ctypes.string_at(0)")
RAISES_ON_1 = with_middle("if rank == 1:\n    raise ValueError('no such luck')")
HANGS_ON_1 = with_middle("if rank == 1:\n    while True:\n        time.sleep(0.1)")
SYNTAX_ERROR = "import torch\n\n\ndef solution(tensor:\n    return tensor\n"
PRINTS_A_GIGABYTE = with_middle(
    "if not hasattr(dist, 'printed'):\n"
    "    dist.printed = True\n"
    "    for _ in range(512):\n"
    "        os.write(1, (b'y' * 1023 + b'\\n') * 1024)"
)


def leaves_sleepers(word: str, then: str = "") -> str:
    """Every rank leaves a process behind, in a session of its own, that sleeps for ``word`` seconds."""
    return with_middle(
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        os.execvp('sleep', ['sleep', {word!r}])\n"
        "    os._exit(0)\n" + then
    )


def hangs_with_sleepers(word: str) -> str:
    """Leaves such processes behind, then never returns."""
    return leaves_sleepers(word, "time.sleep(1e6)")
