"""Measuring the links between two GPUs, on machines that have them."""

from __future__ import annotations

import asyncio

import pytest

from tests.program import RANKS_PYTHON
from workbench.config import RanksSettings, Settings
from workbench.devices import torch_cuda, visible_gpus
from workbench.flow.links import measure_links

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(visible_gpus() < 2, reason="needs two NVIDIA GPUs"),
    pytest.mark.skipif(visible_gpus() >= 2 and not torch_cuda(RANKS_PYTHON), reason="the ranks' torch is a CPU build"),
]


def test_two_gpus() -> None:
    """Copy engine, NCCL and whatever kernels the GPUs can run move the right data; what is left out has a reason."""
    settings = Settings(ranks=RanksSettings(world=2, python=RANKS_PYTHON))
    report = asyncio.run(measure_links(settings, "cuda", 32 << 20))
    assert report.verified
    assert {"copy engine", "nccl send/recv", "nccl all_reduce"} <= {rate.mechanism for rate in report.rates}
    kernels = {f"{kind} {way}" for kind in ("register", "bulk") for way in ("load", "store")}
    tried = {rate.mechanism for rate in report.rates if rate.blocks} | {left.mechanism for left in report.left_out}
    assert kernels <= tried
    assert all(left.why for left in report.left_out)
