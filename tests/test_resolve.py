"""From a problem's name to the target, and the creation of its working file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from problems.starter import starter_text
from workbench.config import RanksSettings, RunSettings, Settings, TopologySettings
from workbench.errors import PkwbError, UsageError
from workbench.resolve import ensure_working_file, resolve_target


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
