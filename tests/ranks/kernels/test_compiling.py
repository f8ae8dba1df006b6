"""Raw kernels: what NVRTC makes of CUDA text, and what is told of text that it refuses."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

from tests.flow.sitting import Sitting
from tests.ranks.kernels.scale import NAME, SCALE, needs_nvrtc
from workbench.events import Diagnostic
from workbench.ranks.names.utils import kernels


@needs_nvrtc
def test_template_with_number_types_compiles() -> None:
    """An instance of a template over CUDA's bf16 type compiles, and its parameters are known by type."""
    kernel = kernels.compile(SCALE, NAME)
    assert kernel.parameters == ("Q", "f", "Q", "B", "d")
    assert kernel.cubin.startswith(b"\x7fELF")
    assert kernels.compile(SCALE, NAME) is kernel


BROKEN = """
extern "C" __global__ void k(int* x) {
  *x = y;
}
"""


@needs_nvrtc
def test_errors_have_the_lines_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    """What NVRTC refuses is told with its line in the text, and with line and column in the file that holds it."""
    with pytest.raises(kernels.CompileError) as failed:
        kernels.compile(BROKEN, "k")
    assert failed.value.msg == 'kernel.cu(3): error: identifier "y" is undefined'
    assert "*x = y;" in capsys.readouterr().err
    lines = Path(__file__).read_text().splitlines()
    place = (failed.value.filename, failed.value.lineno, failed.value.offset)
    assert place == (__file__, lines.index("  *x = y;") + 1, 8)
    with pytest.raises(kernels.CompileError) as failed:
        kernels.compile(BROKEN.replace("y", "z"), "k")
    assert (failed.value.filename, failed.value.lineno) == (None, None)


@needs_nvrtc
def test_errors_are_in_the_candidates_file() -> None:
    """A candidate with a broken kernel is told the line of its own file."""
    sitting = Sitting("1", limit=20.0)
    try:
        at_load = f'from utils import kernels\nSOURCE = """{BROKEN}"""\nK = kernels.compile(SOURCE, "k")\n'
        in_call = at_load.replace("K = ", "def solution(tensor):\n    ")
        assert [sitting.judge(text).status for text in (at_load, in_call)] == ["build-error"] * 2
        found = [event for event in sitting.events if isinstance(event, Diagnostic)]
        told = 'CompileError: identifier "y" is undefined'
        assert [(one.line, one.column, one.message) for one in found] == [(4, 8, told)] * 2
    finally:
        sitting.close()


@needs_nvrtc
@pytest.mark.parametrize("name", ["scales", "scale", "helper"])
def test_names_that_are_no_kernel(name: str) -> None:
    """A name that no kernel has, a template without its types and a device function are named as the fault."""
    with pytest.raises(kernels.CompileError, match=f"no __global__ function '{name}'"):
        kernels.compile(SCALE + "__device__ int helper() { return 1; }\n", name)


@needs_nvrtc
def test_option_that_nvrtc_does_not_know() -> None:
    """A wrong option is shown."""
    with pytest.raises(kernels.CompileError, match="--no-such"):
        kernels.compile(SCALE, NAME, options=["--no-such"])


@needs_nvrtc
def test_options_and_architecture_reach_nvrtc() -> None:
    """Definitions and the architecture are what the text sees."""
    text = '#if __CUDA_ARCH__ == 800\nextern "C" __global__ void k(int* x) { *x = N; }\n#endif\n'
    assert kernels.compile(text, "k", options=["-DN=4"], arch="sm_80").parameters == ("Q",)
    with pytest.raises(kernels.CompileError):
        kernels.compile(text, "k", options=["-DN=4"], arch="sm_90a")


@needs_nvrtc
@pytest.mark.parametrize("root", [None, *kernels.ROOTS])
def test_headers_of_libraries(root: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers are found in include paths and below the roots of header-only libraries; a changed one counts."""
    header = tmp_path / "include" / "tile.cuh"
    header.parent.mkdir()
    header.write_text("#define PARAMETERS int* x\n")
    if root:
        monkeypatch.setenv(root, str(tmp_path))
    text, paths = '#include "tile.cuh"\nextern "C" __global__ void k(PARAMETERS) {}\n', [] if root else [header.parent]
    assert kernels.compile(text, "k", include_paths=list(map(str, paths))).parameters == ("Q",)
    header.write_text("#define PARAMETERS int* x, float y\n")
    kernels._compiled.cache_clear()
    assert kernels.compile(text, "k", include_paths=list(map(str, paths))).parameters == ("Q", "f")


@needs_nvrtc
@pytest.mark.parametrize("name", ["tile.inl", "tile", "deep/tile.hpp"])
def test_headers_of_any_name(name: str, tmp_path: Path) -> None:
    """A change counts in whatever a source includes; links that lead nowhere, such as an editor's locks, do not."""
    header = tmp_path / "include" / name
    header.parent.mkdir(parents=True)
    (header.parent / ".#tile.h").symlink_to("user@host.17")
    (header.parent / "gone.h").symlink_to("nowhere")
    text = f'#include "{name}"\nextern "C" __global__ void k(PARAMETERS) {{}}\n'
    for parameters, known in (("int* x", ("Q",)), ("int* x, float y", ("Q", "f"))):
        header.write_text(f"#define PARAMETERS {parameters}\n")
        kernels._compiled.cache_clear()
        assert kernels.compile(text, "k", include_paths=[str(tmp_path / "include")]).parameters == known


@needs_nvrtc
def test_alone_beside_a_file(tmp_path: Path) -> None:
    """The module works when it is copied to another place, with torch alone."""
    folder = tmp_path / "utils"
    folder.mkdir()
    shutil.copy(kernels.__file__, folder)
    text = f"from utils import kernels\nprint(kernels.compile({SCALE!r}, {NAME!r}).parameters)\n"
    (tmp_path / "own.py").write_text(text)
    nvrtc = next(
        entry for entry in [*sys.path, ""] if not entry or list(Path(entry).glob("nvidia/*/lib/libnvrtc.so.*"))
    )
    environment = {
        "PYTHONPATH": nvrtc,
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        kernels.CACHE: str(tmp_path / "k"),
    }
    command = [sys.executable, str(tmp_path / "own.py")]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("('Q', 'f', 'Q', 'B', 'd')\n", "")


def test_no_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without NVRTC the message says what to install."""
    monkeypatch.setattr(kernels, "_toolkits", list)
    kernels._nvrtc.cache_clear()
    with pytest.raises(OSError, match="pip install nvidia-cuda-nvrtc, or set CUDA_HOME"):
        kernels.compile(SCALE, NAME)
