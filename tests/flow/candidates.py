"""Candidates for problem 1 (all-reduce) that go wrong in one way each, and what a user is told of them."""

from __future__ import annotations

_HEAD = """\
import ctypes, os, signal, sys, time
import torch
import torch.distributed as dist
"""
_SOLUTION = """
def solution(tensor):
    rank = dist.get_rank()
    out = tensor.clone()
{middle}
    dist.all_reduce(out)
{end}
"""
GOOD = _HEAD + _SOLUTION.format(middle="", end="    return out")


def with_middle(text: str) -> str:
    """The good candidate with lines before its collective."""
    return _HEAD + _SOLUTION.format(middle="\n".join("    " + line for line in text.splitlines()), end="    return out")


def with_end(text: str) -> str:
    """The good candidate with lines after its collective in place of its return."""
    return _HEAD + _SOLUTION.format(middle="", end="\n".join("    " + line for line in text.splitlines()))


def without(text: str) -> str:
    """A file that holds ``text`` in place of a solution."""
    return _HEAD + text


BAD: dict[str, tuple[str, str, str]] = {
    "empty": ("", "load-error", "defines no function `solution`"),
    "no solution": (without("x = 1\n"), "load-error", "it needs solution(tensor)"),
    "not a function": (without("solution = 3\n"), "load-error", "`solution` is a int"),
    "wrong signature": (without("def solution(a, b):\n    return a\n"), "load-error", "as solution(tensor)"),
    "syntax error": (without("def solution(tensor:\n    return 1\n"), "build-error", "line 4"),
    "missing import": (without("import no_such_module\n"), "load-error", "No module named 'no_such_module', line 4"),
    "exit while loading": (without("sys.exit(0)\n"), "load-error", "called exit(0)"),
    "one rank exits while loading": (GOOD + "if dist.get_rank() == 1:\n    os._exit(0)\n", "crash", "rank 1"),
    "raises on rank 1": (with_middle("if rank == 1:\n    raise ValueError('boom')"), "crash", "rank 1: ValueError"),
    "raises everywhere": (with_middle("1 / 0"), "crash", "all ranks: ZeroDivisionError"),
    "exits with 0": (with_middle("if rank == 1:\n    os._exit(0)"), "crash", "rank 1: exited with code 0"),
    "sys.exit in a call": (with_middle("if rank == 0:\n    sys.exit(3)"), "crash", "rank 0: SystemExit"),
    "segmentation fault": (with_middle("if rank == 1:\n    ctypes.string_at(0)"), "crash", "solution, candidate.py:9"),
    "killed": (with_middle("if rank == 0:\n    os.kill(os.getpid(), signal.SIGKILL)"), "crash", "killed by signal 9"),
    "never returns": (with_middle("if rank == 1:\n    time.sleep(1e6)"), "hang", "rank 1: solution, candidate.py:9"),
    "deadlock": (
        with_middle("if rank == 1:\n    return out"),
        "hang", "rank 0: all_reduce, candidate.py:10; rank 1: returned",
    ),
    "two results": (with_end("return out, out"), "contract", "the reference returns float32"),
    "wrong shape": (with_end("return out[:-1]"), "contract", "shape"),
    "wrong dtype": (with_end("return out.double()"), "contract", "dtype float64, the reference float32"),
    "wrong structure": (with_end("return {'out': out}"), "contract", "{out: float32"),
    "no result": (with_end("return None"), "contract", "out is None"),
    "not a tensor": (with_end("return object()"), "contract", "neither a tensor nor"),
    "a number": (with_end("return 1.5"), "contract", "out is float"),
    "not waited for": (
        without("from torch.distributed._functional_collectives import all_reduce\n"
                "def solution(tensor):\n    return all_reduce(tensor, 'sum', dist.group.WORLD)\n"),
        "contract", "AsyncCollectiveTensor",
    ),
    "sparse": (with_end("return out.to_sparse()"), "contract", "layout"),
    "nan": (with_end("out[3, 5] = float('nan')\nreturn out"), "wrong", "out[3, 5] is nan"),
    "inf": (with_end("out[0, 0] = float('inf')\nreturn out"), "wrong", "out[0, 0] is inf"),
    "returns its argument": (with_end("tensor.copy_(out)\nreturn tensor"), "contract", "shares memory with"),
    "changes its argument": (with_end("tensor += 1\nreturn out"), "contract", "the argument tensor was changed"),
    "deep structure": (with_end("for _ in range(500):\n    out = [out]\nreturn out"), "contract", "nested"),
    "writes into every descriptor": (
        with_middle("for fd in range(3, 64):\n    try:\n        os.write(fd, b'\\0\\0\\0\\x02{}')\n"
                    "    except OSError:\n        pass"),
        "crash", "malformed answer",
    ),
}  # fmt: skip
