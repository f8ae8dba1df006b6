"""Steps between ranks for Triton kernels, under Triton's interpreter on CPU ranks."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

from tests.flow.sitting import Sitting
from tests.ranks.group import in_group

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed: pip install triton")
CANDIDATE = """\
import torch
import triton
import triton.language as tl
from utils import symmetric
from utils.triton_utils import barrier, peer


@triton.jit
def all_reduce(tensor, table, signals, rank, world, out, count, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    place = program * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    tl.store(peer(table, rank, tensor) + place, tl.load(tensor + place, mask=inside), mask=inside)
    barrier(signals, rank, world, program + 1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for other in range(world):
        total += tl.load(peer(table, other, tensor) + place, mask=inside).to(tl.float32)
    tl.store(out + place, total.to(out.dtype.element_ty), mask=inside)
    barrier(signals, rank, world, program + 1)


def solution(tensor):
    mine = symmetric.buffer((tensor.numel(),), tensor.dtype)
    out = torch.empty_like(tensor)
    grid = (triton.cdiv(out.numel(), 4096),)
    table, signals = mine.table, mine.signal_table
    all_reduce[grid](tensor, table, signals, mine.rank, mine.world, out, out.numel(), BLOCK=4096)
    return out
"""


@needs_triton
def test_a_candidate_is_judged() -> None:
    """A Triton kernel that reads its peers' buffers and waits for them is right on CPU ranks."""
    sitting = Sitting("1", limit=60.0)
    try:
        verdict = sitting.judge(CANDIDATE)
        assert verdict.status == "ok", verdict.reason
    finally:
        sitting.close()


@needs_triton
def test_signals_order_ranks(tmp_path: Path) -> None:
    """Who waits for a slot sees what was written before it was set, and the slot is clear again."""
    (tmp_path / "kernels_of_test.py").write_text(
        "import triton, triton.language as tl\n"
        "from utils.triton_utils import peer, signal, wait\n"
        "@triton.jit\n"
        "def send(table, signals, like, to, place, value):\n"
        "    tl.store(peer(table, to, like) + place, value)\n"
        "    signal(signals, to, 5 + place)\n"
        "@triton.jit\n"
        "def receive(table, signals, rank, place, out):\n"
        "    wait(signals, rank, 5 + place)\n"
        "    tl.store(out, tl.load(peer(table, rank, out) + place))\n"
    )
    body = """
    from utils import symmetric
    from kernels_of_test import receive, send
    mine, out = symmetric.buffer((4,), torch.int32), torch.zeros(1, dtype=torch.int32)
    for value in range(8):
        if rank == 0:
            send[(1,)](mine.table, mine.signal_table, out, 1, value % 4, value)
        else:
            receive[(1,)](mine.table, mine.signal_table, 1, value % 4, out)
            print(out.item(), end=" ")
        if value == 3:
            mine.barrier()
    mine.barrier()
    """
    folder = str(Path(find_spec("triton").origin).parents[1])  # type: ignore[union-attr,arg-type]
    assert in_group(tmp_path, body, 2, folder, TRITON_INTERPRET="1", PYTHONWARNINGS="ignore") == [
        "",
        "0 1 2 3 4 5 6 7 ",
    ]


@pytest.mark.skipif(find_spec("triton") is not None, reason="Triton is installed")
def test_without_triton() -> None:
    """Without Triton, importing the helpers says what to install."""
    sys.modules.pop("workbench.ranks.names.utils.triton_utils", None)
    with pytest.raises(ImportError, match=r"utils\.triton_utils needs Triton .*: pip install triton"):
        import workbench.ranks.names.utils.triton_utils  # noqa: F401
