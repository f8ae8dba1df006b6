"""The host's object of CUDA text is kept while only kernels change, and the library is the one that nvcc makes."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.build.candidates import cuda_texts
from tests.build.joined import joined
from tests.build.slim_builds import STUBS, arch, compile_command, needs_nvcc, tools, write_units
from workbench.build.cache import Cache
from workbench.build.host_objects import HostObjects, text_digest, without_code
from workbench.build.jobs import Slots
from workbench.build.making import Maker, Order
from workbench.build.model import Command, Request
from workbench.build.phases import compile_cuda

TEXT = """\
#include <cstdio>
static __device__ int counter;
namespace { __global__ void hidden(float* x) { x[0] = 1; } }
template <typename T> __global__ void scale(T* x) {
  x[threadIdx.x] *= 2;
  atomicAdd(&counter, 1);
}
int where(int line = __builtin_LINE()) { return line; }
void launch(float* x, double* y) {
  scale<<<1, 32>>>(x);
  scale<<<1, 32>>>(y);
  hidden<<<1, 1>>>(x);
  printf("%d", where());
}
"""
EDITS = {
    "nothing": (" ", " "),
    "a number": ("*= 2;", "*= 3;"),
    "more code": ("*= 2;", "*= 2; for (int i = 0; i < x[1]; ++i) x[i] = sin(x[i]);"),
    "less code": ("x[threadIdx.x] *= 2;", ""),
    "a remark": ("*= 2;", "*= 2;  // twice"),
}
OTHERS = {
    "the host's code": ('"%d"', '"%i"'),
    "a line more": ("  atomicAdd", "\n  atomicAdd"),
    "another kernel's name": ("hidden", "secret"),
    "a kernel's parameters": ("void hidden(float* x)", "void hidden(float* x, int n = 0)"),
    "a kernel that is not launched any more": ("  scale<<<1, 32>>>(y);", ""),
    "a variable's size": ("counter;", "counter, more[2];"),
}


class Unit:
    """Compilations of one unit, each in a folder of its own, that share what is kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = Cache(folder / "cache", 10**9)
        self.objects = HostObjects(self.cache, tools())
        self.count = 0

    async def library(self, text: str, *flags: str, plain: bool = False) -> tuple[bytes, bool]:
        """The linked library, and whether an earlier object is in it. ``plain``: nothing is kept or looked for."""
        self.count += 1
        place = self.folder / str(self.count)
        place.mkdir()
        (place / "cuda.cu").write_text(text)
        code = f"-gencode=arch=compute_{arch()},code=sm_{arch()}"
        words = ("nvcc", "-c", "cuda.cu", "-o", "cuda.o", "--compiler-options=-fPIC", code)
        command = Command(argv=(*words, *flags), output="cuda.o")
        done = await compile_cuda(command, place, Slots(4), 100, None if plain else self.objects)
        assert all(job.ok for job in done), done[-1].output
        return linked(place), Path(done[-1].command.argv[0]).name == "objcopy"


def linked(place: Path) -> bytes:
    """The library of the object in a folder."""
    subprocess.run(("g++", "-shared", "cuda.o", "-o", "k.so"), cwd=place, check=True)
    return (place / "k.so").read_bytes()


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    """A unit that was not compiled yet."""
    needs_nvcc()
    if not shutil.which("objcopy"):
        pytest.skip("needs objcopy")
    return Unit(tmp_path)


@pytest.mark.parametrize("edit", EDITS)
async def test_edit_of_a_kernel_alone(edit: str, unit: Unit) -> None:
    """With an edit of a kernel alone the host's code is not compiled again, and the library is nvcc's to the byte."""
    _, first = await unit.library(TEXT)
    edited = TEXT.replace(*EDITS[edit])
    assert await unit.library(edited) == ((await unit.library(edited, plain=True))[0], True)
    assert not first


@pytest.mark.parametrize("edit", OTHERS)
async def test_any_other_edit(edit: str, unit: Unit) -> None:
    """With any other edit, also one that only moves lines of the host's code, it is compiled again."""
    await unit.library(TEXT)
    edited = TEXT.replace(*OTHERS[edit])
    assert await unit.library(edited) == ((await unit.library(edited, plain=True))[0], False)


async def test_other_flags(unit: Unit) -> None:
    """An object that was compiled with other flags is not taken, though the text is the same."""
    flag = "--compiler-options=-fno-plt"
    await unit.library(TEXT)
    assert await unit.library(TEXT, flag) == ((await unit.library(TEXT, flag, plain=True))[0], False)
    assert (await unit.library(TEXT))[1]


async def test_warnings_are_told_each_time(unit: Unit) -> None:
    """What g++ warns of is told with every build, since an object with warnings is not kept."""
    text = "static int unused() { return 1; }\n" + TEXT
    found = [(await unit.library(text, "--compiler-options=-Wall"))[1] for _ in range(2)]
    assert found == [False, False]
    assert unit.cache.entries() == []


async def test_code_in_several_parts(unit: Unit) -> None:
    """Relocatable device code, which lies elsewhere in the object, is compiled as ever."""
    text = TEXT.replace("static __device__ int counter", "__device__ int counter")
    assert [(await unit.library(text, "-rdc=true"))[1] for _ in range(2)] == [False, False]


async def test_damaged_object(unit: Unit) -> None:
    """A kept object that was damaged is compiled anew, and the new one is kept."""
    first, _ = await unit.library(TEXT)
    (entry,) = unit.cache.entries()
    entry.file.chmod(0o644)
    content = entry.file.read_bytes()
    entry.file.write_bytes(content[:-100] + bytes(100))
    assert await unit.library(TEXT) == (first, False)
    assert await unit.library(TEXT) == (first, True)


async def test_objcopy_that_leaves_the_section(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object whose code was not replaced is not used: the library holds the kernels of its own text."""
    await unit.library(TEXT)
    program = unit.folder / "bin" / "objcopy"
    program.parent.mkdir()
    real = shutil.which("objcopy")
    program.write_text(f'#!/bin/sh\ncase "$1" in --update-section) cp "$3" "$4";; *) exec {real} "$@";; esac\n')
    program.chmod(0o755)
    monkeypatch.setattr(unit.objects, "_objcopy", str(program))
    edited = TEXT.replace(*EDITS["a number"])
    assert await unit.library(edited) == ((await unit.library(edited, plain=True))[0], False)


async def test_without_objcopy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no objcopy, everything is compiled as ever and nothing is kept."""
    needs_nvcc()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    unit = Unit(tmp_path)
    assert [(await unit.library(TEXT))[1] for _ in range(2)] == [False, False]
    assert unit.cache.entries() == []


def _order(text: str) -> Order:
    return Order(request=Request(name="k", cuda=text), arch=arch())


async def test_full_builds_keep_it(unit: Unit, tmp_path: Path) -> None:
    """A full build with room for four compilers takes the object of the one before it; it is in the cache's list."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "types.h").write_text("")
    stubs = dataclasses.replace(tools(), torch_cuda="", torch_includes=(str(tmp_path),))
    maker = Maker(stubs, unit.cache, Slots(4))
    results = [await maker.full(_order(text)) for text in (TEXT, TEXT.replace(*EDITS["a number"]))]
    assert [result.ok for result in results] == [True, True], results[-1].reason
    made = sorted((entry.made_by, entry.name) for entry in unit.cache.entries())
    assert made == [("full", "k"), ("full", "k"), ("host", "host.o")]


async def test_quick_builds_do_not(unit: Unit) -> None:
    """A quick build compiles its short text whole and keeps no more than the library and its runtime."""
    text = "#include <torch/extension.h>\n__global__ void f() {}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n"
    result = await Maker(tools(), unit.cache, Slots(4)).slim(_order(text))
    assert result.ok, result.reason
    assert {entry.made_by for entry in unit.cache.entries()} == {"runtime", "slim"}


def test_what_the_address_of_an_object_is_made_of() -> None:
    """The text before compilation counts with the lines' numbers and files, not with how those are told."""
    told = b'# 1 "a.cu"\nint a;\n\n\n\nint b;\n'
    jump = b'# 1 "a.cu"\nint a;\n# 7 "b.h" 1 3 4\n# 5 "a.cu" 2\nint b;'
    assert text_digest(told) == text_digest(jump)
    others = (b"int b;", b"int c;"), (b"\n\n\n\n", b"\n\n\n"), (b"a.cu", b"b.cu"), (b"int b;", b" int b;")
    assert len({text_digest(told), *(text_digest(told.replace(*edit)) for edit in others)}) == 5
    assert text_digest(jump) != text_digest(jump.replace(b'"a.cu" 2', b'"a.cu" 2 3'))
    assert text_digest(b'#pragma a\n# 7 "b"\nx') == text_digest(b'\n#pragma a\n# 7 "b"\nx')


def test_only_the_code_is_left_out() -> None:
    """Of the text that holds the device's code nothing else is left out."""
    text = '".align 8\\n"\n"fatbinData:\\n"\n".quad 0x0, 0x1f\\n"\n".quad 0x2\\n"\n".text\\n");\nlong fatbinData[3];\n'
    assert without_code(text) == '".align 8\\n"\n"fatbinData:\\n"\n".text\\n");\nlong fatbinData[1];\n'
    assert without_code('".quad here\\n"\n') == '".quad here\\n"\n'


@pytest.mark.slow
@pytest.mark.timeout(1500)
async def test_candidates_with_torchs_own_headers(unit: Unit) -> None:
    """All candidates in one library, one kernel edited: with the earlier object it is nvcc's library to the byte."""
    text = "#undef TORCH_EXTENSION_NAME\n" + joined(cuda_texts())
    edited = text.replace("total = fmaf(value, value, total);", "total = fmaf(value + 1.f, value, total);")
    assert edited != text
    libraries = []
    for number, (source, kept) in enumerate(((text, unit.objects), (edited, unit.objects), (edited, None))):
        request = Request(name="all", cuda=source, cuda_flags=("-O3",), includes=(str(STUBS),))
        place = unit.folder / f"full-{number}"
        place.mkdir()
        write_units(request, place)
        command = Command(argv=compile_command(request, full=True), output="cuda.o")
        done = await compile_cuda(command, place, Slots(4), 600, kept)
        assert done[-1].ok, done[-1].output
        libraries.append((linked(place), Path(done[-1].command.argv[0]).name == "objcopy"))
    assert libraries[1] == (libraries[2][0], True)
