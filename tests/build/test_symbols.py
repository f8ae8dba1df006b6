"""Names that nothing defines, found in libraries that were linked."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.build.elf import Elf, NotElf
from workbench.build.loading import may_bring_names
from workbench.build.model import CPP_UNIT, Finding, Request, Toolchain
from workbench.build.names import declared_at
from workbench.build.symbols import findings_of, lacking

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")

TEXT = """\
// twice(int) is used below
struct Pair { int a, b; };
int twice(int value);
namespace own { template <class T> T half(T value); }
int use(int value) { return twice(value) + own::half(value); }
"""


class Bench:
    """A folder with libraries that stand for torch's and the user's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "torch").mkdir()
        self.tools = Toolchain(torch_lib=str(folder / "torch"), torch_cuda="13.0", python=shutil.which("sh") or "")

    def link(self, text: str, name: str = "k.so", *flags: str) -> Path:
        """A shared library of this text."""
        source = self.folder / "text.cpp"
        source.write_text(text)
        out = self.folder / name
        subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(out), *flags], check=True)
        return out

    def lacking(self, text: str, *flags: str, cuda: bool = False) -> list[str]:
        """What a library of this text lacks."""
        request = Request(name="k", cuda=text if cuda else "", cpp="" if cuda else text, ld_flags=flags)
        return lacking(self.link(text, "k.so", *flags), request, self.tools)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Nothing but a torch without libraries."""
    return Bench(tmp_path)


def test_names_at_their_declarations(bench: Bench) -> None:
    """Functions that are declared, used and nowhere defined are told as they are written, where they are declared."""
    request = Request(name="k", cpp=TEXT)
    names = lacking(bench.link(TEXT), request, bench.tools)
    found = asyncio.run(findings_of(names, request, bench.folder))
    words = "no source and no library defines it; define it with exactly these parameters, or name its library in"
    assert sorted(found, key=lambda one: one.line) == [
        Finding(severity="error", message=f"undefined symbol {name}: {words} extra_ldflags", unit=CPP_UNIT, line=line)
        for line, name in ((3, "twice(int)"), (4, "int own::half<int>(int)"))
    ]


def test_what_others_define(bench: Bench) -> None:
    """Nothing is missed that the C library, torch, its own libraries or what those need define."""
    bench.link("int deep(int v) { return v; }", "torch/libdeep.so")
    bench.link("int deep(int); int middle(int v) { return deep(v); }", "torch/libmiddle.so", f"-L{bench.folder}/torch",
               "-ldeep")  # fmt: skip
    bench.link("int mine(int v) { return v; }", "libmine.so", "-Wl,--hash-style=sysv")
    text = "#include <unistd.h>\nint deep(int); int mine(int); int use(int v) { return deep(v) + mine(v) + getpid(); }"
    assert bench.lacking(text) == ["_Z4minei"]
    assert bench.lacking(text, f"-L{bench.folder}", "-lmine") == []


def test_what_may_be_missing(bench: Bench) -> None:
    """Weak names, Python's own and what only a header mentions are left to the loader."""
    text = '#include "more.h"\n__attribute__((weak)) int may(int); extern "C" int Py_Twice(int);\n'
    (bench.folder / "more.h").write_text("int hidden(int); inline int more(int v) { return hidden(v); }\n")
    assert bench.lacking(f"{text} int use(int v) {{ return (may ? may(v) : 0) + Py_Twice(v) + more(v); }}") == []


def test_library_that_is_not_here(bench: Bench) -> None:
    """What a library of the user's may define that is not found is not said to be missing."""
    bench.link("int mine(int v) { return v; }", "libmine.so")
    request = Request(name="k", cpp=TEXT, ld_flags=("-lmine",))
    library = bench.link(f"int mine(int);{TEXT} int more(int v) {{ return mine(v); }}", "k.so", f"-L{bench.folder}",
                         "-lmine")  # fmt: skip
    assert lacking(library, request, bench.tools) == []


def test_machine_without_a_driver(bench: Bench) -> None:
    """Where the driver's library is not installed its functions are not said to be missing, and others are."""
    driver = bench.link('extern "C" int cuOther() { return 1; }', "libcuda.so.1", "-Wl,-soname,libcuda.so.1")
    text = 'extern "C" { int cuOther(); int cuTwice(int); int gone(int); }\n'
    text += "int use(int v) { return cuOther() + cuTwice(v) + gone(v); }"
    library = bench.link(text, "k.so", str(driver))
    driver.unlink()
    assert lacking(library, Request(name="k", cpp=text), bench.tools) == ["gone"]


def test_cpu_build_of_torch(bench: Bench) -> None:
    """Where torch has no CUDA part only the user's own C++ functions are said to be missing from CUDA text."""
    bench.tools = Toolchain(torch_lib=bench.tools.torch_lib, python=bench.tools.python)
    text = 'namespace at { int stream(int); }\nextern "C" int cublasTwice(int); int gone(int);\n'
    text += "int use(int v) { return at::stream(v) + cublasTwice(v) + gone(v); }"
    assert bench.lacking(text, cuda=True) == ["_Z4gonei"]


def test_declarations() -> None:
    """A declaration is found behind comments, calls and other names; a variable where it is declared."""
    text = "/* f(1)\n */ int f(\n  int);\nint of(int x) { return f(x); }\nextern int\n  count;\n"
    assert [declared_at(name, text) for name in ("f", "count", "none")] == [2, 6, 0]


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_damaged_library(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A library that is no longer one, wherever it is damaged, is told as unreadable or read, and ends no look."""
    whole = _whole(tmp_path_factory)
    content = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.one_of(st.integers(0, 63), st.integers(0, len(content) - 9)))
        content[at : at + 8] = data.draw(st.binary(min_size=8, max_size=8))
    damaged = whole.with_name("damaged.so")
    damaged.write_bytes(content[: data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))])
    try:
        elf = Elf(damaged)
        elf.lacking(), elf.needed(), elf.defined(), elf.defines("twice")
    except NotElf:
        return


def _whole(factory: pytest.TempPathFactory) -> Path:
    file = factory.getbasetemp() / "whole.so"
    if not file.exists():
        source = file.with_suffix(".cpp")
        source.write_text(TEXT)
        subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(file)], check=True)
    return file


@pytest.mark.parametrize(
    "source",
    [
        "import ctypes\n", "from ctypes import CDLL", "import mpi4py.MPI", "import sys; sys.setdlopenflags(258)",
        "import torch\ntorch.ops.load_library('x.so')", "import importlib", "def f(:",
    ],
)  # fmt: skip
def test_files_that_may_bring_names(source: str) -> None:
    """A file that may load libraries itself is left to the loader."""
    assert may_bring_names(source)


def test_usual_files_bring_no_names() -> None:
    """Torch, NumPy, Triton, the standard library and pkwb's own names bring none."""
    assert not may_bring_names(
        "from __future__ import annotations\nimport os, torch.distributed as dist\nimport numpy as np\n"
        "from torch.utils.cpp_extension import load_inline\nfrom utils.kernels import compile\nimport triton.language\n"
    )
