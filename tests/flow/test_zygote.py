"""The ranks' interpreter: what it takes from the folder that pkwb lies in, and what it leaves there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.sitting import Sitting
from tests.program import RANKS_PYTHON, ROOT
from workbench.ranks import zygote

LATE_IMPORTS = """
import contextlib

import torch.distributed as dist
import torch.distributed.nn.functional
import torch.utils.benchmark

with contextlib.suppress(ImportError):
    import beside_pkwb


def solution(tensor):
    out = tensor.clone()
    dist.all_reduce(out)
    return out
"""


@pytest.fixture
def site_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with pkwb's packages, as in an installation for another Python whose binaries cannot be loaded here."""
    for name in ("workbench", "problems"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("torch", "numpy", "typing_extensions", "beside_pkwb"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('made for another Python')\n")
    monkeypatch.setattr("workbench.flow.zygote.ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def sitting(site_packages: Path) -> Iterator[Sitting]:
    """Two ranks of a pkwb that is installed there."""
    made = Sitting("1")
    yield made
    made.close()


def test_ranks_use_their_own_packages(sitting: Sitting) -> None:
    """pkwb may be installed for another Python: torch and what it needs still come from the ranks' own, at any time."""
    verdict = sitting.judge(LATE_IMPORTS)

    assert (verdict.status, verdict.reason) == ("ok", "")


SHARED_TEMPORARY = """
import os

import torch.distributed as dist


def solution(tensor):
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, (os.environ["TMPDIR"], os.environ["HOME"]))
    assert len({temporary for temporary, _ in found}) == 1
    assert len({home for _, home in found}) == len(found)
    out = tensor.clone()
    dist.all_reduce(out)
    return out
"""


def test_ranks_share_a_temporary_folder(sitting: Sitting) -> None:
    """Ranks find each other's sockets in one TMPDIR, as PyTorch's symmetric memory asks; each has a home of its own."""
    verdict = sitting.judge(SHARED_TEMPORARY)

    assert (verdict.status, verdict.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("device", "world", "cores", "looks"),
    [("cpu", 1, 128, False), ("cuda", 2, 8, True), ("cuda", 2, 7, False), ("cuda", 8, 128, True)],
    ids=["processors", "cores enough", "too few cores", "a large machine"],
)
def test_ranks_look_for_messages_where_cores_are_left(
    device: str, world: int, cores: int, looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judges and ranks burn a core while they wait only for GPU ranks, and only with four cores a rank."""
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert (zygote._spin_ns(device, world) > 0) is looks


_IMPORTED = """
import sys, torch
from workbench.ranks import zygote
zygote._import_once(("no.such.module", *zygote._BEFORE_GPU_RANKS))
known = set(sys.modules)
torch._check(True)
from torch._prims_common import make_contiguous_strides_for
make_contiguous_strides_for((2, 3))
print(sorted(set(sys.modules) - known), all(name in known for name in zygote._BEFORE_GPU_RANKS))
print(torch.cuda.is_initialized())
"""


def test_gpu_ranks_import_nothing_for_symmetric_memory() -> None:
    """What PyTorch imports for a first buffer of symmetric memory is there beforehand; no GPU is touched."""
    done = subprocess.run([RANKS_PYTHON, "-c", _IMPORTED], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "[] True\nFalse\n", done.stderr
