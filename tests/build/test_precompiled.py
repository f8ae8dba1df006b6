"""Full builds of C++ text take a precompiled header once there is one, and come to the same as without."""

from __future__ import annotations

import asyncio
import ctypes
import dataclasses
import os
import sys
from pathlib import Path

import pytest

from tests.build.slim_builds import needs_cxx, tools
from tests.build.test_jobs import gone, there
from workbench.build import precompiled
from workbench.build.cache import Cache
from workbench.build.jobs import Slots
from workbench.build.making import Maker, Order
from workbench.build.model import Request, Result
from workbench.build.service import BuildService

HEADER = """\
#pragma once
#include <vector>
#include <shape.h>
#ifdef TWICE
inline int times() { return 2; }
#else
inline int times() { return 1; }
#endif
"""
TEXT = """\
#include <torch/extension.h>
extern "C" int answer() { return times() * std::vector<int>(3, SIDES)[1]; }
"""
_CXX = """#!/bin/sh
here={here}
echo "$*" >> "$here/calls"
case "$*" in
  *c++-header*) [ -e "$here/hang" ] && {{ sleep 1000 & echo $! > "$here/id"; mv "$here/id" "$here/hangs"; wait; }};;
  *-fsyntax-only*) [ -e "$here/deaf" ] && exit 0;;
  *"-include early.h"*) [ -e "$here/broken" ] && {{ cat "$here/broken"; exit 1; }};;
esac
case "$*" in
  *" -c "*) {real} -H "$@" 2> "$here/said"; code=$?; grep -v '^[.!x]' "$here/said"; exit $code;;
esac
exec {real} "$@"
"""


class Desk:
    """A maker with a small header in place of torch's, and a C++ compiler whose calls are noted."""

    def __init__(self, folder: Path, limit: int = 10**10) -> None:
        needs_cxx()
        if sys.platform != "linux":
            pytest.skip("needs GNU's g++ and ld")
        self.folder = folder
        for name, text in (("torch/extension.h", HEADER), ("shape.h", "#define SIDES 5\n")):
            file = folder / "include" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for library in ("c10", "torch_cpu", "torch", "torch_python"):
            (folder / f"lib{library}.so").write_text("INPUT(-lm)\n")  # a script of the linker's
        (folder / "cxx").write_text(_CXX.format(here=folder, real=tools().cxx))
        (folder / "cxx").chmod(0o755)
        found = {"cxx": str(folder / "cxx"), "torch_lib": str(folder), "torch_includes": (str(folder / "include"),)}
        self.tools = dataclasses.replace(tools(), **found)  # type: ignore[arg-type]
        self.cache = Cache(folder / "cache", limit)
        self.maker = Maker(self.tools, self.cache, Slots(2))

    async def build(self, text: str = TEXT, name: str = "k", **more: tuple[str, ...]) -> Result:
        """A full build, and all that it begins in the background."""
        (self.folder / "calls").write_text("")
        result = await self.maker.full(Order(request=Request(name=name, cpp=text, **more), arch="90", full=True))
        await self.maker.idle()
        return result

    async def answer(self, text: str = TEXT, name: str = "k", **more: tuple[str, ...]) -> int:
        """What the built library says."""
        result = await self.build(text, name, **more)
        assert result.ok, result.reason
        return int(ctypes.CDLL(result.library).answer())

    @property
    def taken(self) -> bool:
        """Whether the last unit was compiled with the precompiled header."""
        return f"! ./{precompiled.FILE}" in (self.folder / "said").read_text().splitlines()

    @property
    def compiled(self) -> int:
        """How often the unit was compiled in the last build."""
        return sum(" -c " in call for call in (self.folder / "calls").read_text().splitlines())

    @property
    def headers(self) -> int:
        """How many precompiled headers are kept."""
        return sum(entry.made_by == "header" for entry in self.cache.entries())


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is always enough of it."""
    monkeypatch.setattr(precompiled, "available_bytes", lambda: 10**11)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A maker that nothing was asked of yet."""
    return Desk(tmp_path)


async def test_second_build_takes_it(desk: Desk) -> None:
    """The first build does not wait for the header; the next ones take it, whatever the module's name."""
    assert (await desk.answer(), desk.taken, desk.headers) == (5, False, 1)
    assert (await desk.answer(TEXT + "int more;", name="other"), desk.taken, desk.headers) == (5, True, 1)


async def test_another_process_takes_it(desk: Desk, tmp_path: Path) -> None:
    """A header that an earlier pkwb made is taken by the first build, and not made again."""
    await desk.build()
    later = Desk(tmp_path)
    assert (await later.answer(TEXT + "int more;"), later.taken) == (5, True)
    assert not any("c++-header" in call for call in (tmp_path / "calls").read_text().splitlines())


async def test_same_object(desk: Desk) -> None:
    """With the header the library is the same to the byte as without."""
    without = await desk.build()
    plain = Path(without.library).read_bytes()
    desk.cache.remove(desk.maker.key(Order(request=Request(name="k", cpp=TEXT), arch="90"), "full"))
    again = await desk.build()
    assert (Path(again.library).read_bytes() == plain, desk.taken) == (True, True)


async def test_other_flags_need_another_one(desk: Desk) -> None:
    """A build with other flags does not take the header, which says something else with them, and gets its own."""
    await desk.build()
    assert (await desk.answer(cpp_flags=("-DTWICE",)), desk.taken, desk.headers) == (10, False, 2)
    assert (await desk.answer(TEXT + "int more;", cpp_flags=("-DTWICE",)), desk.taken) == (10, True)


@pytest.mark.parametrize("way", ["includes", "cpp_flags", "CPATH"])
async def test_folders_of_the_users_own(way: str, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """With folders of the user's, which may hold a header that torch's includes, the plain header is compiled."""
    await desk.build()
    own = desk.folder / "own"
    own.mkdir()
    (own / "shape.h").write_text("#define SIDES 7\n")
    more: dict[str, tuple[str, ...]] = {"includes": (str(own),), "cpp_flags": (f"-I{own}",)}
    if way not in more:
        monkeypatch.setenv(way, str(own))
    flags = {name: value for name, value in more.items() if name == way}
    assert (await desk.answer(TEXT + "int more;", **flags), desk.taken) == (7, False)
    (own / "shape.h").write_text("#define SIDES 9\n")
    assert (await desk.answer(TEXT + "int again;", **flags), desk.taken) == (9, False)


async def test_damaged_header(desk: Desk) -> None:
    """A header that was damaged is not used; the build goes without."""
    await desk.build()
    (entry,) = (one for one in desk.cache.entries() if one.made_by == "header")
    entry.file.chmod(0o644)
    with entry.file.open("r+b") as file:
        file.seek(entry.size // 2)
        file.write(bytes(range(256)))
    assert (await desk.answer(TEXT + "int more;"), desk.taken, desk.headers) == (5, False, 0)


@pytest.mark.parametrize("said", ["had to relocate PCH", "cannot read PCH file: Success"])
async def test_compiler_that_cannot_load_it(said: str, desk: Desk) -> None:
    """Where the compiler fails for the header's sake, the build is done again without it."""
    await desk.build()
    (desk.folder / "broken").write_text(f"main.cpp:1:1: fatal error: {said}\n")
    assert (await desk.answer(TEXT + "int more;"), desk.taken, desk.compiled) == (5, False, 2)


async def test_error_of_the_text(desk: Desk) -> None:
    """An error of the user's text is told at its line after one compilation, with the header, too."""
    await desk.build()
    result = await desk.build(TEXT + "int wrong = nothing;\n")
    assert (result.ok, desk.compiled) == (False, 1)
    assert [(one.unit, one.line) for one in result.findings if one.severity == "error"] == [("main.cpp", 3)]


async def test_error_of_the_linker(desk: Desk) -> None:
    """What the linker refuses is not compiled again."""
    await desk.build()
    result = await desk.build(TEXT + "int more;", ld_flags=("-lnot_there_at_all",))
    assert (result.ok, desk.compiled) == (False, 1)


async def test_compiler_that_does_not_take_it(desk: Desk) -> None:
    """A header that the compiler would not read is not kept, and not made a second time."""
    (desk.folder / "deaf").touch()
    await desk.build()
    assert desk.headers == 0
    await desk.build(TEXT + "int more;")
    assert not any("c++-header" in call for call in (desk.folder / "calls").read_text().splitlines())


async def test_small_cache(tmp_path: Path) -> None:
    """A cache that the header would fill keeps none."""
    desk = Desk(tmp_path, limit=10**9)
    assert (await desk.answer(), desk.headers) == (5, 0)


async def test_little_memory(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """With little free memory no header is made beside the builds."""
    monkeypatch.setattr(precompiled, "available_bytes", lambda: 4 * 10**9)
    assert (await desk.answer(), desk.headers) == (5, 0)


async def test_two_are_kept(desk: Desk) -> None:
    """Of the headers for many sets of flags the last two are kept, and `pkwb cache clear` removes them."""
    for number in range(3):
        await desk.build(cpp_flags=(f"-DN={number}",))
    assert desk.headers == 2
    assert (await desk.answer(TEXT + "int more;", cpp_flags=("-DN=2",)), desk.taken) == (5, True)
    desk.cache.clear()
    assert desk.headers == 0


async def _niceness(pid: int, wanted: int) -> bool:
    while os.getpriority(os.PRIO_PROCESS, pid) != wanted:
        await asyncio.sleep(0.005)
    return True


async def test_closing_ends_it(desk: Desk) -> None:
    """The header is made behind other compilers, and nothing runs on when the builder ends meanwhile."""
    (desk.folder / "hang").touch()
    (desk.folder / "calls").touch()
    service = BuildService(desk.tools, desk.cache, Slots(2))
    await service.build(Order(request=Request(name="k", cpp=TEXT), arch="90", full=True))
    child = await asyncio.wait_for(there(desk.folder / "hangs"), 10)
    assert await asyncio.wait_for(_niceness(child, os.getpriority(os.PRIO_PROCESS, 0) + 5), 10)
    await asyncio.wait_for(service.close(), 10)
    assert await asyncio.wait_for(gone(child), 10)
    assert list(desk.cache.folder.glob("job-*")) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_torchs_own_header(tmp_path: Path) -> None:
    """With torch's own header precompiled a module is the same to the byte, and the compiler took it."""
    needs_cxx()
    text = (
        "#include <torch/extension.h>\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("one", [] { return torch::ones({1}); }); }\n'
    )
    cache = Cache(tmp_path / "cache", 10**10)
    maker = Maker(tools(), cache, Slots(2))
    order = Order(request=Request(name="k", cpp=text), arch="90", full=True)
    libraries = []
    for _ in range(2):
        result = await maker.full(order)
        assert result.ok, result.reason
        libraries.append(Path(result.library).read_bytes())
        await maker.idle()
        cache.remove(maker.key(order, "full"))
    assert [entry.made_by for entry in cache.entries()] == ["header"]
    assert libraries[0] == libraries[1]


async def test_fewer_headers_have_one_of_their_own(tmp_path: Path) -> None:
    """A text takes the precompiled form of the headers that it is built with, be it all of torch's or fewer."""
    desk = Desk(tmp_path)
    folder = desk.folder / "include/torch"
    (folder / "extension.h").write_text("#pragma once\n#include <torch/nn.h>\n" + HEADER)
    (folder / "nn.h").write_text("#define TWICE\n")
    (folder / "python.h").write_text("")
    for text, answer in ((TEXT, 5), (f"#include <torch/nn.h>\n{TEXT}", 10)):
        assert (await desk.answer(text), desk.taken) == (answer, False)
        assert (await desk.answer(text, "other"), desk.taken) == (answer, True)
