"""Compiler flags that a candidate gives."""

from __future__ import annotations

import pytest

from workbench.build.flags import checked
from workbench.build.model import Request

CUDA = [
    "-O3", "-std=c++20", "-DX=1", "-DNAME", "-I/opt/cutlass/include", "-lineinfo", "--use_fast_math",
    "-arch=sm_90a", "-gencode=arch=compute_90,code=sm_90",
    "--generate-code=arch=compute_90a,code=[sm_90a,compute_90a]", "-Xptxas=-v,-O3", "-Xcompiler=-fPIC",
    "--compiler-options=-Wall,-fopenmp", "--expt-relaxed-constexpr", "--expt-extended-lambda", "-maxrregcount=64",
    "--threads=2", "-Xcudafe=--diag_suppress=20012", "-diag-suppress=20012", "-G", "-g",
]  # fmt: skip
LINKER = [
    "-lcuda", "-lcublas", "-L/usr/lib", "-Wl,-rpath,/opt/lib", "-Wl,--no-as-needed", "-pthread",
    "/usr/lib/libcuda.so.1", "-Wl,--whole-archive,--no-whole-archive", "-l:libcuda.so.1",
]  # fmt: skip
HOSTILE_CUDA = [
    "-fplugin=/tmp/x.so", "@/tmp/flags", "-wrapper", "-wrapper,sh", "--compiler-bindir=/tmp", "-ccbin=/tmp/sh",
    "-o", "/etc/passwd", "-Xcompiler=-fplugin=/tmp/x.so", "-Xcompiler=-wrapper,sh", "--keep", "--keep-dir=/tmp",
    "-Xptxas=-o,/tmp/x", "-specs=/tmp/x", "-B/tmp", "--options-file=/tmp/x", "-optf=/tmp/x", "-Wa,--defsym,x=1",
    "-Wp,-MF,/tmp/x", "-fdump-tree-all", "-MF", "--dryrun", "--dependency-output=/tmp/x", "-Xlinker=-T", "-x",
    "-include=/etc/passwd", "--run", "-fprofile-generate=/tmp", "-DX\n-fplugin=x", "-idp=/tmp",
    "--cudafe-options=--gen_c_file_name=/tmp/x",
]  # fmt: skip
HOSTILE_LINKER = [
    "-fplugin=/tmp/x.so", "@/tmp/flags", "-Wl,-plugin,/tmp/x.so", "-Wl,--plugin=/tmp/x.so", "-o", "-Wl,-o,/tmp/x",
    "-T", "-Wl,-T,/tmp/x", "-Wl,-Map=/tmp/x", "-Xlinker", "-B/tmp", "-fuse-ld=/tmp/x", "-wrapper", "/tmp/x.o",
    "-Wl,@/tmp/x", "-Wl,--version-script=/tmp/x", "-specs=/tmp/x", "-Wl,-rpath,/x,-plugin,/y", "-l../../x",
    "/tmp/evil.so,-plugin",
]  # fmt: skip


@pytest.mark.parametrize("flag", CUDA)
def test_cuda_flags_that_matter_are_taken(flag: str) -> None:
    """Flags that change the code are passed on as they are."""
    request, wrong = checked(Request(name="k", cuda="x", cuda_flags=(flag,)))
    assert (request.cuda_flags, wrong) == ((flag,), ())


@pytest.mark.parametrize("flag", LINKER)
def test_linker_flags_that_matter_are_taken(flag: str) -> None:
    """Libraries, their folders and run-time paths are passed on."""
    request, wrong = checked(Request(name="k", cuda="x", ld_flags=(flag,)))
    assert (request.ld_flags, wrong) == ((flag,), ())


@pytest.mark.parametrize("flag", HOSTILE_CUDA)
def test_hostile_cuda_flag(flag: str) -> None:
    """A flag that loads a program, reads options or writes elsewhere is refused by name, with what is allowed."""
    _, wrong = checked(Request(name="k", cuda="x", cuda_flags=("-O3", flag, "-lineinfo")))
    assert "not allowed in extra_cuda_cflags" in wrong[0].message
    assert "allowed: -O" in wrong[0].message


@pytest.mark.parametrize("flag", HOSTILE_LINKER)
def test_hostile_linker_flag(flag: str) -> None:
    """The same for the linker."""
    _, wrong = checked(Request(name="k", cuda="x", ld_flags=("-lcuda", flag)))
    assert "not allowed in extra_ldflags" in wrong[0].message


SHELL = [
    "-DX=$(touch evil)", "-DX=`touch evil`", "-DX=a;b", "-DX=a|b", "-DX=a&b", "-DX=a>b", "-DX=a\\b", "-DX=(a)",
    "-I/a b", "-DX=~",
]  # fmt: skip


@pytest.mark.parametrize("flag", SHELL)
def test_nothing_reaches_the_shell_of_nvcc(flag: str) -> None:
    """nvcc runs its steps through a shell: what that could take for more than a word is refused, in folders too."""
    for request, advice in (
        (Request(name="k", cuda="x", cuda_flags=(f"'{flag}'",)), "write such values into the source"),
        (Request(name="k", cuda="x", includes=(f"/opt/{flag}",)), "give a folder with a plain name"),
    ):
        message = checked(request)[1][0].message
        assert f"characters that nvcc would hand to a shell: {advice}" in message


def test_words_as_a_shell_has_them() -> None:
    """A flag and its value may be one text, two, or joined by a blank, as in the command line of a build tool."""
    given = ("-gencode", "arch=compute_90,code=sm_90", "-Xptxas -v", "-D", "X=1", "-lineinfo -O2")
    request, wrong = checked(Request(name="k", cuda="x", cuda_flags=given))
    assert not wrong
    assert request.cuda_flags == ("-gencode=arch=compute_90,code=sm_90", "-Xptxas=-v", "-DX=1", "-lineinfo", "-O2")


def test_unreadable_flag() -> None:
    """A flag with an open quote is refused."""
    _, wrong = checked(Request(name="k", cuda="x", cuda_flags=("-DX='",)))
    assert len(wrong) == 1
