"""The builder process as its parent sees it: orders, deaths, ends."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.build.fakes import calls, compiler
from tests.build.test_jobs import gone, there
from tests.program import RANKS_PYTHON, environment
from workbench.build.model import Request
from workbench.config import Settings
from workbench.flow.builder import Builder, build_cache

GOOD = Request(name="k", cuda="int a;")
ENDLESS = Request(name="k", cuda="HANG")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with compilers of our own, which stands first on PATH."""
    folder = tmp_path / "bin"
    for name in ("nvcc", "g++"):
        compiler(folder, name)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("CXX", raising=False)
    return folder


def settings() -> Settings:
    """Settings that leave the full build only, which needs no headers from a compiler of our own."""
    found = Settings()
    return dataclasses.replace(
        found,
        build=dataclasses.replace(found.build, full=True),
        ranks=dataclasses.replace(found.ranks, python=RANKS_PYTHON),
    )


@pytest.fixture
async def builder(tools: Path) -> AsyncIterator[Builder]:
    """A builder that runs nothing yet."""
    found = Builder(settings())
    yield found
    await found.close()


async def test_order(builder: Builder) -> None:
    """The process starts with the first order and answers what became of it."""
    assert builder.pid == 0
    result = await builder.build(GOOD, "90", full=True)
    assert (result.ok, result.way) == (True, "full")
    assert (await builder.build(GOOD, "90", full=True)).way == "cached"


async def test_order_that_fails_inside(builder: Builder) -> None:
    """Whatever goes wrong in the builder, who ordered gets an answer, and the next order is served."""
    result = await asyncio.wait_for(builder.build(Request(name="k", cuda="// \ud800"), "90", full=True), 20)
    assert (result.ok, result.machine, "UnicodeEncodeError" in result.reason) == (False, True, True)
    assert (await builder.build(GOOD, "90", full=True)).ok


async def test_cache_that_is_no_folder(builder: Builder) -> None:
    """Where nothing can be kept the reason names the place, and that it is not the text's fault."""
    build_cache().parent.mkdir(parents=True, exist_ok=True)
    build_cache().write_text("a file")
    result = await builder.build(GOOD, "90", full=True)
    assert (result.ok, result.machine, str(build_cache()) in result.reason) == (False, True, True)


async def test_toolchain(builder: Builder, tools: Path) -> None:
    """The builder tells which compilers and which torch it found, without importing torch."""
    found = await builder.toolchain()
    assert (found.nvcc, found.nvcc_version) == (str(tools / "nvcc"), "13.0.88")
    assert (found.torch[0].isdigit(), found.std >= 17, "--expt-relaxed-constexpr" in found.nvcc_flags) == (True,) * 3
    assert Path(found.python_include, "Python.h").exists()
    maps = Path(f"/proc/{builder.pid}/maps").read_text()
    assert "libtorch" not in maps


async def test_cancelled_order_ends_its_compilers(builder: Builder, tools: Path) -> None:
    """An attempt that is superseded ends the compilers that ran for it; the builder serves the next."""
    order = asyncio.ensure_future(builder.build(ENDLESS, "90", full=True))
    child = await asyncio.wait_for(there(tools / "hangs"), 20)
    order.cancel()
    await asyncio.gather(order, return_exceptions=True)
    assert await asyncio.wait_for(gone(child), 10)
    assert (await builder.build(GOOD, "90", full=True)).ok


async def test_close_ends_everything(builder: Builder, tools: Path) -> None:
    """Leaving pkwb ends builder and compilers."""
    order = asyncio.ensure_future(builder.build(ENDLESS, "90", full=True))
    child = await asyncio.wait_for(there(tools / "hangs"), 20)
    pid = builder.pid
    await builder.close()
    order.cancel()
    await asyncio.gather(order, return_exceptions=True)
    assert await asyncio.wait_for(gone(child), 10)
    assert await asyncio.wait_for(gone(pid), 10)


async def test_killed_builder_is_started_anew(builder: Builder, tools: Path) -> None:
    """When the builder is killed its compilers are ended, and the order is served by a new one."""
    order = asyncio.ensure_future(builder.build(ENDLESS, "90", full=True))
    child = await asyncio.wait_for(there(tools / "hangs"), 20)
    (tools / "hangs").unlink()
    os.kill(builder.pid, signal.SIGKILL)
    assert await asyncio.wait_for(gone(child), 20)
    await asyncio.wait_for(there(tools / "hangs"), 20)
    order.cancel()
    await asyncio.gather(order, return_exceptions=True)
    assert (await builder.build(GOOD, "90", full=True)).ok


PARENT = """
import asyncio, dataclasses
from tests.build.test_builder import ENDLESS, settings
from workbench.flow.builder import Builder
asyncio.run(Builder(settings()).build(ENDLESS, "90", full=True))
"""


async def test_parent_is_killed(tools: Path) -> None:
    """After kill -9 of pkwb neither builder nor compiler nor a folder is left, and the cache holds nothing half."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT], env=environment(TMPDIR=str(tools)))
    child = await asyncio.wait_for(there(tools / "hangs"), 20)
    parent.kill()
    parent.wait()
    assert await asyncio.wait_for(gone(child), 20)
    assert len(calls(tools)) == 1
    while list(build_cache().iterdir()) or list(tools.glob("pkwb-build-*")):
        await asyncio.sleep(0.005)
