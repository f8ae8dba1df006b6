"""Which of the two builds has the word: the quick one where it works, the full one on what is wrong."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.build.desk import Desk
from tests.build.fakes import toolchain
from tests.build.test_jobs import gone, there
from workbench.build import fast
from workbench.build.making import Order
from workbench.build.model import Command, Request


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A service that nothing was asked of yet."""
    return Desk(tmp_path)


SLIM = {
    "works": ["echo lib > {out}"],
    "fails": ["echo 'cuda.cu(1): error: no such thing'; exit 2"],
    "fails to link": ["echo object > cuda.o", "echo '/usr/bin/ld: cannot find -lnothing: it is not there'; exit 1"],
    "has no room": ["echo 'cicc: No space left on device'; exit 1"],
}
"""What the quick build runs, stage by stage."""


@pytest.fixture
def slim(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have the quick build be a small script that works or fails."""

    def stages(script: str, out: str) -> tuple[tuple[Command, ...], ...]:
        lines = [line.format(out=out) for line in SLIM[script]]
        return tuple((Command(argv=("sh", "-c", line), output="" if line != lines[-1] else out),) for line in lines)

    def choose(script: str) -> None:
        monkeypatch.setattr(fast, "obstacle", lambda request, tools: "")
        monkeypatch.setattr(fast, "write_headers", lambda tools, folder: None)
        monkeypatch.setattr(fast, "runtime_commands", lambda tools, out: stages("works", out)[0])
        monkeypatch.setattr(fast, "slim_commands", lambda request, tools, arch, runtime, out: stages(script, out))

    return choose


async def test_quick_build_wins(desk: Desk, slim: Callable[[str], None]) -> None:
    """Where the quick build works the full one is not even started on a small machine."""
    slim("works")
    result = await desk.build()
    assert (result.ok, result.way, result.made_by) == (True, "slim", "slim")
    assert desk.compiled == 0
    assert (await desk.build()).way == "cached"


async def test_both_at_once_on_a_large_machine(tmp_path: Path, slim: Callable[[str], None]) -> None:
    """With many cores both builds start; when the quick one is there the full one's compilers are ended."""
    slim("works")
    desk = Desk(tmp_path, cores=16)
    assert (await desk.build("HANG")).way == "slim"
    if (tmp_path / "hangs").exists():
        assert await asyncio.wait_for(gone(await there(tmp_path / "hangs")), 10)
    assert [path.name[:3] for path in (tmp_path / "cache").iterdir() if path.name.startswith("job")] == []


@pytest.mark.parametrize("cores", [2, 16])
async def test_quick_build_fails(cores: int, tmp_path: Path, slim: Callable[[str], None]) -> None:
    """What the quick build cannot do the full one does; what was wrong is told early, and stays a note."""
    slim("fails")
    desk, early = Desk(tmp_path, cores=cores), []
    order = Order(request=Request(name="k", cuda="int a;"), arch="90")
    result = await desk.service.build(order, lambda found: early.extend(found))
    assert (result.ok, result.way, result.slim_note) == (True, "full", "no such thing")
    assert [finding.message for finding in early] == ["no such thing"]


async def test_full_build_is_asked_for(desk: Desk, slim: Callable[[str], None]) -> None:
    """The full build can be had where the quick one works, and each keeps its own library."""
    slim("works")
    quick, full = await desk.build(), await desk.build(full=True)
    assert (quick.made_by, full.made_by, full.way) == ("slim", "full", "full")
    assert (await desk.build()).library == quick.library


async def test_rank_could_not_load_the_quick_build(desk: Desk, slim: Callable[[str], None]) -> None:
    """After a rank could not load what the quick build made, that request is built in full from then on."""
    slim("works")
    await desk.build()
    order = Order(request=Request(name="k", cuda="int a;"), arch="90", unfit=True)
    assert (await desk.service.build(order)).made_by == "full"
    assert (await desk.build()).made_by == "full"


@pytest.mark.parametrize("cores", [2, 16])
async def test_what_the_full_build_cannot_link(cores: int, tmp_path: Path, slim: Callable[[str], None]) -> None:
    """With a CPU build of torch, which links no CUDA text, an error of the quick build's linker is an error, then and
    later, in another pkwb too; what such a torch compiles and the quick build does not is still right."""
    slim("fails to link")
    tools = dataclasses.replace(toolchain(tmp_path), torch_cuda="")
    for desk in (Desk(tmp_path, tools, cores), Desk(tmp_path, tools, cores)):
        for _ in range(2):
            result = await desk.build()
            assert (result.ok, "cannot find -lnothing" in result.reason) == (False, True)
    slim("fails")
    assert [(await desk.build("int b;")).ok for _ in range(2)] == [True, True]


async def test_linker_of_the_full_build_decides(desk: Desk, slim: Callable[[str], None]) -> None:
    """Where the full build links, what the quick build's linker refused may be right."""
    slim("fails to link")
    assert (await desk.build()).made_by == "full"


@pytest.mark.parametrize("cores", [2, 16])
async def test_no_room_for_the_quick_build(cores: int, tmp_path: Path, slim: Callable[[str], None]) -> None:
    """A full disk is told at once; the full build, which needs more room, is not waited for."""
    slim("has no room")
    desk = Desk(tmp_path, cores=cores)
    result = await desk.build("HANG")
    assert (result.ok, result.machine) == (False, True)


async def test_a_known_compile_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a CPU build of torch, a text that only the full build takes is compiled once."""
    monkeypatch.setattr(fast, "obstacle", lambda request, tools: "it includes torch/nn.h")
    desk = Desk(tmp_path, dataclasses.replace(toolchain(tmp_path), torch_cuda=""))
    assert [(await desk.build()).ok for _ in range(2)] == [True, True]
    assert desk.compiled == 1
