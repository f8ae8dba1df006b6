"""From a problem's name to the target, and the creation of its working file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from problems.loader import find_problem
from problems.starter import starter_text
from tests.nvml import FakeGpu, FakeNvml, put_in_place
from workbench.config import RanksSettings, RunSettings, Settings, TopologySettings
from workbench.errors import PkwbError, UsageError
from workbench.resolve import ensure_working_file, resolve_binding, resolve_target
from workbench.rooflines import find_roofline


def settings(world: int = 2, size: str = "smoke", dtype: str = "bfloat16", device: str = "auto") -> Settings:
    """Settings that say what is run."""
    ranks = replace(RanksSettings(), world=world, device=device)  # type: ignore[arg-type]
    return Settings(ranks=ranks, run=RunSettings(size=size, dtype=dtype))


def test_usual_working_file(tmp_path: Path) -> None:
    """The working file lies where other harnesses for these problems expect it."""
    target = resolve_target("42", settings(), root=tmp_path)
    name = "42_zero2_optimizer_shard_grad_pytorch.py"
    assert target.path == tmp_path / "solutions_pytorch" / name
    assert (target.world, target.device, target.binding.size, target.binding.dtype) == (2, "cpu", "smoke", "bfloat16")


def test_own_working_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file named by the user is used, counted from the current folder."""
    monkeypatch.chdir(tmp_path)
    assert resolve_target("1", settings(), file=Path("mine.py")).path == tmp_path / "mine.py"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (settings(world=9), "--ranks 1 to 8"),
        (settings(device="cuda"), "--device cpu"),
        (settings(size="big"), "there is no size"),
        (settings(size="99999999x99999999"), "does not fit"),
        (settings(dtype="int4"), "no dtype"),
    ],
)
def test_impossible_targets(tmp_path: Path, wrong: Settings, said: str) -> None:
    """What cannot be run is refused with what can."""
    with pytest.raises(UsageError, match=said):
        resolve_target("1", wrong, root=tmp_path)


def test_ranks_that_share_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer GPUs than ranks, ranks share them when the user wants that; otherwise the way to it is named."""
    put_in_place(monkeypatch, FakeNvml([FakeGpu()]))
    monkeypatch.setattr("workbench.devices.visible_gpus", lambda: 1)
    monkeypatch.setattr("workbench.devices.torch_cuda", lambda python: "13.0")
    wanted = {world: replace(settings(world), ranks=RanksSettings(world=world, share_gpus=True)) for world in (1, 2)}
    shared, alone = (resolve_target("1", wanted[world], root=tmp_path) for world in (2, 1))

    assert (shared.device, shared.place, shared.not_timed) == ("cuda", "2 ranks on 1 × H200", "2 ranks share a GPU")
    assert (alone.device, alone.place, alone.shared, alone.not_timed) == ("cuda", "1 cuda rank", None, "")
    assert resolve_target("1", settings(), root=tmp_path).device == "cpu"
    with pytest.raises(UsageError, match="--share-gpus"):
        resolve_target("1", settings(device="cuda"), root=tmp_path)


def test_shared_gpus_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the driver's library cannot be asked, shared GPUs are counted; CPU ranks share none."""
    put_in_place(monkeypatch, FakeNvml([FakeGpu()] * 2, refused=["nvmlInit"]))
    monkeypatch.setattr("workbench.devices.visible_gpus", lambda: 2)
    monkeypatch.setattr("workbench.devices.torch_cuda", lambda python: "13.0")
    wanted = RanksSettings(world=4, share_gpus=True)

    assert resolve_target("1", replace(settings(), ranks=wanted), root=tmp_path).place == "4 ranks on 2 GPUs"
    on_cpu = replace(settings(), ranks=replace(wanted, device="cpu"))
    assert resolve_target("1", on_cpu, root=tmp_path).place == "4 cpu ranks"


def test_floor_of_shared_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem has no floor on GPUs that ranks share; on another system it has one."""
    monkeypatch.setattr("workbench.devices.visible_gpus", lambda: 1)
    monkeypatch.setattr("workbench.devices.torch_cuda", lambda python: "13.0")
    put_in_place(monkeypatch, FakeNvml([FakeGpu()]))
    here = replace(settings(), ranks=RanksSettings(share_gpus=True))
    binding = resolve_binding(find_problem("1"), here, any_dtype=True)

    assert find_roofline(binding, here) == "Not known: 2 ranks share a GPU; choose a system with --topology."
    assert not isinstance(find_roofline(binding, replace(here, topology=TopologySettings(name="hgx-h200"))), str)


def test_default_dtype_gives_way(tmp_path: Path) -> None:
    """A dtype that the user did not ask for gives way where the problem has others only."""
    wanted = settings(dtype="float8")
    with pytest.raises(PkwbError):
        resolve_target("1", wanted, root=tmp_path)
    assert resolve_target("1", wanted, root=tmp_path, any_dtype=True).binding.dtype == "bfloat16"


def test_working_file_is_made_once(tmp_path: Path) -> None:
    """A missing working file starts as the starter; one that is there is never touched."""
    target = resolve_target("1", settings(), root=tmp_path / "new" / "folder")
    assert ensure_working_file(target)
    assert target.path.read_text() == starter_text(target.problem, "pytorch")
    target.path.write_text("mine")
    assert not ensure_working_file(target)
    assert target.path.read_text() == "mine"


def test_dangling_link_is_not_replaced(tmp_path: Path) -> None:
    """A link that points nowhere stays; reading it says what is missing."""
    link = tmp_path / "link.py"
    link.symlink_to(tmp_path / "gone.py")
    assert not ensure_working_file(resolve_target("1", settings(), file=link))
    assert link.is_symlink()


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Where the working file cannot be created, the message names another way."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--root or --file"):
        ensure_working_file(resolve_target("1", settings(), root=tmp_path / "file"))


def test_a_system_to_ask_about(tmp_path: Path) -> None:
    """The system that the settings name comes with the ranks placed on it; one too small or unknown is refused."""
    asked = replace(settings(), topology=TopologySettings(name="mi300x"))
    target = resolve_target("1", asked, root=tmp_path)

    assert target.what_if is not None
    assert [device.rank for device in target.what_if.devices[:3]] == [0, 1, None]
    assert resolve_target("1", settings(), root=tmp_path).what_if is None
    with pytest.raises(UsageError, match="no topology 'mi300y'; did you mean 'mi300x'"):
        resolve_target("1", replace(settings(), topology=TopologySettings(name="mi300y")), root=tmp_path)
    with pytest.raises(UsageError, match="h200-nvl has 4 devices"):
        resolve_target("1", replace(settings(world=8), topology=TopologySettings(name="h200-nvl")), root=tmp_path)
