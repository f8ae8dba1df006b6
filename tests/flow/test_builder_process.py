"""The process that builds, from the parent's side."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.build.fakes import compiler
from tests.build.test_jobs import gone, there
from tests.flow.sitting import quick_settings
from workbench.build.model import Request
from workbench.errors import BuilderError
from workbench.flow.builder import Builder

HANGS = Request(name="k", cpp="HANG")


@pytest.fixture
async def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Builder]:
    """A builder with a C++ compiler of our own that can be made to hang, and an empty cache."""
    compiler(tmp_path, "g++")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PKWB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    found = Builder(quick_settings(20.0))
    yield found
    await found.close()


async def hanging(folder: Path) -> int:
    """The child of a compiler that hangs, once it is there; the next one can be waited for."""
    child = await asyncio.wait_for(there(folder / "hangs"), 30)
    (folder / "hangs").unlink()
    return child


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
async def test_builder_is_killed(builder: Builder, tmp_path: Path) -> None:
    """A builder that is killed leaves no compiler, and the build starts anew in another one; twice is an error."""
    build = asyncio.ensure_future(builder.build(HANGS, "90"))
    for _ in range(2):
        child = await hanging(tmp_path)
        os.kill(builder.pid, signal.SIGKILL)
        assert await asyncio.wait_for(gone(child), 10)
    with pytest.raises(BuilderError, match="ended twice"):
        await build


async def test_nobody_waits_for_a_build(builder: Builder, tmp_path: Path) -> None:
    """Who gives up a build ends its compilers, in the builder's process, and the builder goes on."""
    build = asyncio.ensure_future(builder.build(HANGS, "90"))
    child, pid = await hanging(tmp_path), builder.pid
    build.cancel()
    await asyncio.gather(build, return_exceptions=True)
    assert await asyncio.wait_for(gone(child), 10)
    assert (await builder.build(Request(name="k", cpp="int a;"), "90")).name == "k"
    assert builder.pid == pid


async def test_close_leaves_nothing(builder: Builder, tmp_path: Path) -> None:
    """Closing ends the process, its compilers and its folder."""
    build = asyncio.ensure_future(builder.build(HANGS, "90"))
    child = await hanging(tmp_path)
    home = builder._home
    assert home is not None
    await builder.close()
    assert await asyncio.wait_for(gone(child), 10)
    assert (builder.pid, home.exists()) == (0, False)
    with pytest.raises(BuilderError, match="builds were ended"):
        await build
    assert builder.pid == 0


async def test_close_is_for_good(builder: Builder, tmp_path: Path) -> None:
    """An order that comes with the end, or after it, starts no other process."""
    order = asyncio.ensure_future(builder.build(HANGS, "90"))
    await asyncio.sleep(0)
    await builder.close()
    for build in (order, builder.build(HANGS, "90")):
        with pytest.raises(BuilderError, match="builds were ended"):
            await build
    assert (builder.pid, builder._home) == (0, None)


async def test_tools_that_are_found(builder: Builder, tmp_path: Path) -> None:
    """The tools are those that the builder's own environment has, and the torch that of the ranks' interpreter."""
    tools = await builder.toolchain()
    assert tools.cxx == shutil.which("g++") == str(tmp_path / "g++")
    assert Path(tools.torch_root, "version.py").is_file()
