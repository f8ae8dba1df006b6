"""Ranks that really share a GPU, on machines that have one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flow.candidates import GOOD, with_end, with_middle
from tests.flow.sitting import Sitting
from tests.program import RANKS_PYTHON
from workbench.devices import torch_cuda, visible_gpus
from workbench.resolve import shared_gpus

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not visible_gpus(), reason="needs an NVIDIA GPU"),
    pytest.mark.skipif(bool(visible_gpus()) and not torch_cuda(RANKS_PYTHON), reason="the ranks' torch is a CPU build"),
]


@pytest.fixture
def sitting() -> Iterator[Sitting]:
    """Two ranks on one GPU, however many there are."""
    made = Sitting("1", limit=20, device="cuda", shared=shared_gpus(1), samples=20)
    yield made
    made.close()


def test_two_ranks_on_one_gpu(sitting: Sitting) -> None:
    """Both ranks of a right candidate are ok, and nothing is timed; a wrong rank and one that raises are found."""
    good = sitting.judge(GOOD)
    wrong = sitting.judge(with_end("out[0] += rank\nreturn out"))
    crash = sitting.judge(with_middle("if rank == 1:\n    raise ValueError('on purpose')"))

    assert (good.status, good.reason, good.not_timed, good.speedup) == ("ok", "", "2 ranks share a GPU", None)
    assert [rank.status for rank in wrong.ranks] == ["ok", "wrong"]
    assert crash.status == "crash"
    assert crash.reason.startswith("rank 1: ValueError: on purpose")
