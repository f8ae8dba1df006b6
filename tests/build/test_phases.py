"""nvcc's own steps, with the host's and the device's half at once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.build.cubin import kernels
from tests.build.fakes import calls, compiler
from workbench.build.jobs import Slots
from workbench.build.model import Command
from workbench.build.phases import compile_cuda, read_phases

needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")
TEXT = """\
#include <cstdio>
#include "mine.h"
static __device__ int counter;
template <typename T> __global__ void scale(T* x) { x[threadIdx.x] *= FACTOR; atomicAdd(&counter, 1); }
void launch(float* x, double* y) { scale<<<1, 32>>>(x); scale<<<1, 32>>>(y); }
"""


def command(nvcc: str, *more: str) -> Command:
    """Compile ``cuda.cu`` for one architecture."""
    flags = ("-gencode=arch=compute_90,code=sm_90", "-O3", "-Xptxas=-v", "-MMD", "-MF", "cuda.cu.d", *more)
    return Command(argv=(nvcc, "-c", "cuda.cu", "-o", "cuda.o", *flags), output="cuda.o")


def write(folder: Path, text: str = TEXT) -> None:
    """The unit and a header of the user's."""
    (folder / "cuda.cu").write_text(text)
    (folder / "mine.h").write_text("#define FACTOR 2\n")


@needs_nvcc
async def test_same_code_as_nvcc_makes(tmp_path: Path) -> None:
    """The object has the functions and the machine code that nvcc by itself makes, and its dependencies are known."""
    write(tmp_path)
    done = await compile_cuda(command("nvcc"), tmp_path, Slots(4), 100)
    assert all(job.ok for job in done), done[-1].output
    assert len(done) == 7
    assert "mine.h" in (tmp_path / "cuda.cu.d").read_text()
    assert sum("Compiling entry function" in job.output for job in done) == 1
    apart = tmp_path / "apart"
    apart.mkdir()
    write(apart)
    subprocess.run(command("nvcc").argv, cwd=apart, check=True, capture_output=True)
    assert _functions(tmp_path) == _functions(apart)
    subprocess.run(["nvcc", "-cubin", "-arch=sm_90", "-O3", "cuda.cu", "-o", "cuda.cubin"], cwd=apart, check=True)
    assert kernels(tmp_path / "cuda.cubin") == kernels(apart / "cuda.cubin") != {}


def _functions(folder: Path) -> set[str]:
    listed = subprocess.run(["nm", "cuda.o"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in listed.splitlines()}


@needs_nvcc
async def test_error_is_told_once(tmp_path: Path) -> None:
    """What the host's front end refuses is told by it alone, and nothing else runs on."""
    write(tmp_path, TEXT.replace("FACTOR", "nothing"))
    done = await compile_cuda(command("nvcc"), tmp_path, Slots(4), 100)
    assert [job.output.count('identifier "nothing" is undefined') for job in done if not job.ok] == [1]
    assert not (tmp_path / "cuda.o").exists()


@needs_nvcc
async def test_error_of_the_device_alone(tmp_path: Path) -> None:
    """What only the device's front end refuses is told without the host's half having to end."""
    write(tmp_path, f"{TEXT}#ifdef __CUDA_ARCH__\n#error not for this GPU\n#endif\n")
    done = await compile_cuda(command("nvcc"), tmp_path, Slots(4), 100)
    assert [(job.ok, "not for this GPU" in job.output) for job in done][-1] == (False, True)
    assert not (tmp_path / "cuda.o").exists()


@needs_nvcc
async def test_unusual_words(tmp_path: Path) -> None:
    """With words that nvcc's list would show in other form nvcc runs by itself."""
    write(tmp_path)
    done = await compile_cuda(command("nvcc", '-DX="a b"'), tmp_path, Slots(4), 100)
    assert [(job.command.argv[0], job.ok) for job in done] == [("nvcc", True)]


@needs_nvcc
async def test_small_machine(tmp_path: Path) -> None:
    """With room for two compilers nvcc runs by itself."""
    write(tmp_path)
    done = await compile_cuda(command("nvcc"), tmp_path, Slots(2), 100)
    assert [(job.command.argv[0], job.ok) for job in done] == [("nvcc", True)]


async def test_unknown_nvcc_runs_by_itself(tmp_path: Path) -> None:
    """An nvcc that lists other steps than the known ones is run as it is."""
    nvcc = compiler(tmp_path / "bin")
    write(tmp_path)
    done = await compile_cuda(command(str(nvcc)), tmp_path, Slots(4), 100)
    assert [job.ok for job in done] == [True]
    assert len(calls(tmp_path / "bin")) == 1


LISTED = """\
#$ _SPACE_=
#$ CICC_PATH=/cuda/nvvm/bin
#$ PATH=/cuda/bin:/usr/bin
#$ gcc -E -x c++ "cuda.cu" -o "./cuda.cpp4.ii"
#$ cudafe++ --gen_module_id_file --module_id_file_name "./cuda.module_id" "./cuda.cpp4.ii"
#$ gcc -E -x c++ "cuda.cu" -o "./cuda.cpp1.ii"
#$ "$CICC_PATH/cicc" --module_id_file_name "./cuda.module_id" "./cuda.cpp1.ii" -o "./cuda.ptx"
#$ ptxas -arch=sm_90 "./cuda.ptx" -o "./cuda.cubin"
#$ fatbinary --create="./cuda.fatbin"
#$ rm ./cuda.fatbin
#$ gcc -c -x c++ "./cuda.cudafe1.cpp" -o "cuda.o"
"""


def test_known_list() -> None:
    """The known list is taken apart into its two halves, with nvcc's own paths."""
    phases = read_phases(LISTED)
    assert phases is not None
    assert [step.argv[0] for step in phases.host] == ["gcc", "cudafe++"]
    assert [step.argv[0] for step in phases.device] == ["gcc", "/cuda/nvvm/bin/cicc", "ptxas", "fatbinary"]
    assert (phases.last.output, phases.last.environment) == ("cuda.o", (("PATH", "/cuda/bin:/usr/bin"),))
    assert "--gen_module_id_file" not in phases.host[1].argv


OTHERS = {
    "two architectures": LISTED.replace("#$ fatbinary", "#$ ptxas -arch=sm_80 x -o y\n#$ fatbinary"),
    "no front end": LISTED.replace("#$ cudafe++", "#$ other++"),
    "one step less": LISTED.replace("#$ fatbinary", "fatbinary"),
    "open quote": LISTED.replace('"./cuda.ptx" -o', '"./cuda.ptx -o'),
    "nothing": "",
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_list(case: str) -> None:
    """Any other list is left to nvcc."""
    assert read_phases(OTHERS[case]) is None
