"""The build service with compilers of our own: what is built, how often, and what goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.build.desk import Desk
from tests.build.fakes import calls
from tests.build.test_jobs import gone, there
from workbench.build.cache import Cache
from workbench.build.making import Order
from workbench.build.model import Request


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A service that nothing was asked of yet."""
    return Desk(tmp_path)


async def test_built_once_and_kept(desk: Desk) -> None:
    """The library is built by the full build where there are no slim headers, and comes from the cache afterwards."""
    first, second = await desk.build(), await desk.build()
    assert (first.ok, first.way, first.made_by) == (True, "full", "full")
    assert (second.ok, second.way, second.made_by) == (True, "cached", "full")
    assert first.library == second.library
    assert Path(first.library).exists()
    assert first.slim_note
    assert desk.compiled == 1


async def test_another_service_finds_it(desk: Desk, tmp_path: Path) -> None:
    """A library outlives the process that built it."""
    await desk.build()
    assert (await Desk(tmp_path).build()).way == "cached"


async def test_ranks_that_ask_at_once_share_a_build(desk: Desk) -> None:
    """However many ask for the same extension at once, one build runs."""
    results = await asyncio.gather(*(desk.build() for _ in range(8)))
    assert {result.library for result in results} == {results[0].library}
    assert desk.compiled == 1


CHANGES: dict[str, dict[str, Any]] = {
    "text": {"text": "int b;"},
    "flags": {"cuda_flags": ("-O2",)},
    "libraries": {"ld_flags": ("-lcuda",)},
    "folders": {"includes": ("/opt",)},
}


@pytest.mark.parametrize("change", CHANGES)
async def test_what_matters_makes_another_library(change: str, desk: Desk) -> None:
    """Text, flags, libraries and folders each make another library."""
    first = await desk.build()
    second = await desk.build(**CHANGES[change])
    assert (second.way, first.library != second.library) == ("full", True)


@pytest.mark.parametrize("change", [{"nvcc_version": "13.1.1"}, {"torch": "2.14.0"}, {"soabi": "cpython-312"}])
async def test_other_tools_make_another_library(change: dict[str, str], desk: Desk) -> None:
    """A library that was built with another compiler, torch or Python is not taken."""
    await desk.build()
    other = Desk(desk.folder, dataclasses.replace(desk.tools, **change))  # type: ignore[arg-type]
    assert (await other.build()).way == "full"


async def test_changed_header_of_the_user(desk: Desk) -> None:
    """The library is built anew when a header of the user's that went into it has changed."""
    header = desk.folder / "mine.h"
    header.write_text("1")
    nvcc = Path(desk.tools.nvcc)
    nvcc.write_text(nvcc.read_text().replace("exit 0\n", f'echo "cuda.o: cuda.cu {header}" > cuda.cu.d\nexit 0\n', 2))
    assert (await desk.build()).way == "full"
    assert (await desk.build()).way == "cached"
    header.write_text("2")
    assert (await desk.build()).way == "full"


@pytest.mark.parametrize("name", ["NVCC_APPEND_FLAGS", "CPLUS_INCLUDE_PATH"])
async def test_variables_of_the_compilers(name: str, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that was built under other variables, which compilers heed, is not taken."""
    await desk.build()
    monkeypatch.setenv(name, "-G")
    assert (await desk.build()).way == "full"


async def test_other_machine(desk: Desk) -> None:
    """A library for another GPU's architecture is not taken."""
    request = Request(name="k", cuda="int a;")
    for arch in ("90", "100"):
        assert (await desk.service.build(Order(request=request, arch=arch))).way == "full"


def edit(desk: Desk, old: str, new: str) -> None:
    """Have the compiler do something else, each time that it stands in its script."""
    nvcc = Path(desk.tools.nvcc)
    assert old in nvcc.read_text()
    nvcc.write_text(nvcc.read_text().replace(old, new))


async def test_header_is_repaired(desk: Desk) -> None:
    """Errors of a text that includes the user's own headers are looked for again: they may stand in a header."""
    header = desk.folder / "mine.h"
    header.write_text("BROKEN")
    edit(desk, 'grep -q BROKEN "$unit"', f"grep -q BROKEN {header}")
    for request in ({"includes": (str(desk.folder),)}, {"text": f'#include "{header}"'}):
        header.write_text("BROKEN")
        assert not (await desk.build(**request)).ok
        header.write_text("fine")
        assert (await desk.build(**request)).ok


async def test_header_is_saved_while_it_is_compiled(desk: Desk) -> None:
    """A header that changes during a build is not taken for the one that went into it."""
    header = desk.folder / "mine.h"
    header.write_text("1")
    edit(
        desk, "exit 0\n", f'[ -n "$unit" ] && echo 2 > {header}; echo "cuda.o: cuda.cu {header}" > cuda.cu.d\nexit 0\n'
    )
    assert (await desk.build()).way == "full"
    assert (await desk.build()).way == "full"


async def test_static_library_of_the_user(desk: Desk) -> None:
    """A library is built anew when a static library that it was linked with has changed."""
    (desk.folder / "libmine.a").write_text("1")
    flags = (f"-L{desk.folder}", "-lmine")
    assert (await desk.build(ld_flags=flags)).way == "full"
    assert (await desk.build(ld_flags=flags)).way == "cached"
    (desk.folder / "libmine.a").write_text("2")
    assert (await desk.build(ld_flags=flags)).way == "full"


async def test_folder_beside_the_toolkits(desk: Desk) -> None:
    """Headers in a folder whose name begins like torch's are the user's own."""
    folder = desk.folder / "torch_mine"
    folder.mkdir()
    (folder / "mine.h").write_text("1")
    desk = Desk(desk.folder, dataclasses.replace(desk.tools, torch_root=str(desk.folder / "torch")))
    edit(desk, "exit 0\n", f'echo "cuda.o: cuda.cu {folder}/mine.h" > cuda.cu.d\nexit 0\n')
    await desk.build()
    (folder / "mine.h").write_text("2")
    assert (await desk.build()).way == "full"


SAID = {
    "disk": ("cuda.cu(1): fatal error: error writing to /x.s: No space left on device", "found no room on the disk"),
    "text": ('cuda.cu(1): error: no x\n    TORCH_CHECK(x, \\"out of memory, Killed\\");', "no x"),
    "signal": ("\"; kill -SEGV $$; echo \"", "was ended by signal 11 (Segmentation fault)"),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
async def test_cause_of_a_failure(case: str, desk: Desk) -> None:
    """A full disk, an error in a line that speaks of memory, and a compiler's crash are each told as what they are."""
    said, words = SAID[case]
    edit(desk, 'cuda.cu(1): error: identifier \\"BROKEN\\" is undefined', said)
    result = await desk.build("BROKEN")
    assert (result.ok, result.machine, words in result.reason) == (False, case == "disk", True), result
    await desk.build("BROKEN")
    assert desk.compiled == (1 if case == "text" else 2)


async def test_compiler_that_makes_nothing(desk: Desk) -> None:
    """A compiler that ends well without a file is a fault of the machine, and no library."""
    edit(desk, '[ -n "$out" ]', "false")
    result = await desk.build()
    assert (result.ok, result.machine, result.reason) == (
        False,
        True,
        "nvcc ended well and made nothing: check the toolkit",
    )


async def test_endless_template(desk: Desk) -> None:
    """A build that does not end is ended at its limit with everything it started, and says which setting it is."""
    result = await desk.build("HANG", limit=1.0)
    assert not result.ok
    assert "longer than 1 s" in result.reason
    assert "limits.build" in result.reason
    assert await asyncio.wait_for(gone(await there(desk.folder / "hangs")), 10)
    assert list((desk.folder / "cache").iterdir()) == []


async def test_more_memory_than_there_is(desk: Desk) -> None:
    """A compiler that was killed for want of memory is told as that, and tried again when asked again."""
    result = await desk.build("MEMORY")
    assert not result.ok
    assert "ran out of memory" in result.reason
    await desk.build("MEMORY")
    assert desk.compiled == 2


async def test_broken_text_is_not_built_twice(desk: Desk) -> None:
    """The errors of a text that cannot be compiled are remembered: going back to it is answered at once."""
    first, second = await desk.build("BROKEN"), await desk.build("BROKEN")
    assert (first.ok, first.reason) == (False, 'identifier "BROKEN" is undefined')
    assert (second.way, second.findings) == ("cached", first.findings)
    assert desk.compiled == 1


async def test_what_the_linker_refused_is_tried_again(desk: Desk) -> None:
    """A library of the user's may be there the next time; an error of the text stays one."""
    said = "/usr/bin/ld: cannot find -lmine: No such file or directory"
    edit(desk, "out=; unit=\n", f'case "$*" in *-shared*) echo "{said}"; exit 1;; esac\nout=; unit=\n')
    assert [(await desk.build(ld_flags=("-lmine",))).way for _ in range(2)] == ["full", "full"]
    assert [(await desk.build("BROKEN", ld_flags=("-lmine",))).way for _ in range(2)] == ["full", "cached"]


async def test_nobody_waits_any_more(desk: Desk) -> None:
    """A build ends when the last who waits for it gives up, not before."""
    one, two = (asyncio.ensure_future(desk.build("HANG")) for _ in range(2))
    child = await asyncio.wait_for(there(desk.folder / "hangs"), 10)
    one.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await one
    assert not two.done()
    two.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await two
    assert await asyncio.wait_for(gone(child), 10)


async def test_asked_again_at_once(desk: Desk) -> None:
    """A newer save that asks for the same extension goes on with the build that runs for the save before."""
    for _ in range(3):
        job = asyncio.ensure_future(desk.build("HANG"))
        await asyncio.wait_for(there(desk.folder / "hangs"), 10)
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)
    assert desk.compiled == 1
    await desk.service.close()


async def test_asked_again_after_giving_up(desk: Desk) -> None:
    """A build that was ended starts anew when it is asked for again."""
    for _ in range(2):
        job = asyncio.ensure_future(desk.build("HANG"))
        child = await asyncio.wait_for(there(desk.folder / "hangs"), 10)
        (desk.folder / "hangs").unlink()
        job.cancel()
        assert await asyncio.wait_for(gone(child), 10)
    assert desk.compiled == 2


async def test_close_ends_builds_at_once(desk: Desk) -> None:
    """When the service is closed no compiler is left."""
    job = asyncio.ensure_future(desk.build("HANG"))
    child = await asyncio.wait_for(there(desk.folder / "hangs"), 10)
    await desk.service.close()
    await asyncio.gather(job, return_exceptions=True)
    assert await asyncio.wait_for(gone(child), 10)


TOOLS = {
    "no nvcc": ({"nvcc": ""}, "nvcc was not found: install the CUDA toolkit, or set CUDA_HOME"),
    "dumb nvcc": ({"nvcc_version": ""}, "does not answer"),
    "other CUDA": ({"nvcc_version": "12.4.131"}, "is of CUDA 12.4, the ranks' torch of CUDA 13.0"),
    "no torch": ({"torch_root": ""}, "has no torch"),
    "no compiler": ({"cxx": ""}, "no C++ compiler was found"),
}


@pytest.mark.parametrize("case", TOOLS)
async def test_missing_tools(case: str, desk: Desk) -> None:
    """A compiler that is missing, mute or of another CUDA than torch is named, with what to do, and nothing is run."""
    change, words = TOOLS[case]
    result = await Desk(desk.folder, dataclasses.replace(desk.tools, **change)).build()  # type: ignore[arg-type]
    assert (result.ok, result.no_tools, words in result.reason) == (False, True, True)
    assert desk.compiled == 0


async def test_minor_release_of_cuda_may_differ(desk: Desk) -> None:
    """A toolkit of the same major release as torch's is good enough."""
    assert (await Desk(desk.folder, dataclasses.replace(desk.tools, nvcc_version="13.2.10")).build()).ok


@pytest.mark.parametrize("name", ["", "a-b", "a b", "../x", "class", "x;y"])
async def test_name_that_is_no_name(name: str, desk: Desk) -> None:
    """A module's name must be one: it becomes a file and a macro."""
    result = await desk.service.build(Order(request=Request(name=name, cuda="int a;"), arch="90"))
    assert (result.ok, "cannot be the name of a module" in result.reason) == (False, True)


async def test_hostile_flags(desk: Desk) -> None:
    """A flag that would load a program into the compiler is refused before any compiler runs."""
    result = await desk.build(ld_flags=("-fplugin=/tmp/evil.so",))
    assert (result.ok, result.way) == (False, "none")
    assert "'-fplugin=/tmp/evil.so' is not allowed in extra_ldflags" in result.reason
    assert calls(desk.folder) == []


async def test_architecture(desk: Desk) -> None:
    """One architecture is compiled: the machine's, or the one that the candidate names."""
    await desk.build()
    await desk.build(cuda_flags=("-arch=sm_90a",))
    plain, named = (call for call in calls(desk.folder) if "-c cuda.cu" in call)
    assert plain.count("-gencode=arch=compute_90,code=sm_90") == plain.count("arch=") == 1
    assert named.count("-arch=sm_90a") == named.count("arch=") == 1


async def test_machine_without_cuda_torch(desk: Desk) -> None:
    """With a CPU build of torch CUDA text is compiled and not linked: the result is a proof, not a library."""
    tools = dataclasses.replace(desk.tools, torch_cuda="")
    result = await Desk(desk.folder, tools).build()
    assert (result.ok, result.library) == (True, "")
    assert not any("-shared" in call for call in calls(desk.folder))


async def test_disk_without_room(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that cannot be kept is no library, and the reason says where."""
    monkeypatch.setattr(Cache, "publish", lambda *arguments: None)
    result = await desk.build()
    assert (result.ok, "could not be kept" in result.reason) == (False, True)
