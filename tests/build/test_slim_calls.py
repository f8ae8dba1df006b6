"""Modules with slim headers behave towards Python as those with torch's own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.build.slim_builds import build_full, build_slim, needs_cxx, python, run, tools
from workbench.build import fast
from workbench.build.model import Request

_HERE = Path(__file__).parent
_SOURCE = (_HERE / "semantics.cpp").read_text(encoding="utf-8").replace("#include <torch/extension.h>\n", "")


@pytest.fixture(scope="module")
def slim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the slim module."""
    needs_cxx()
    folder = tmp_path_factory.mktemp("slim")
    return build_slim(Request(name="semantics", cpp=_SOURCE), folder, folder / "runtime.o").parent


def _outcomes(folder: Path) -> Mapping[str, str]:
    command = [sys.executable, "-W", "ignore", str(_HERE / "call_probes.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.timeout(300)
def test_every_call_ends_as_with_torchs_own_headers(slim: Path, tmp_path: Path) -> None:
    """Over a thousand calls give the same results, the same errors, and take and refuse the same arguments."""
    real = _outcomes(build_full(Request(name="semantics", cpp=_SOURCE), tmp_path).parent)
    found = _outcomes(slim)
    assert len(real) > 1000
    assert {call: came for call, came in found.items() if real[call] != came} == {}
    assert found.keys() == real.keys()


def test_a_refusal_names_what_the_function_takes(slim: Path) -> None:
    """Who passes a wrong argument reads the function's signature and what was passed."""
    said = python(
        "import sys, torch; sys.path.insert(0, sys.argv[1]); import semantics\n"
        "try: semantics.defaults([1], mode='sum')\n"
        "except TypeError as error: print(error)",
        str(slim),
    )
    assert "defaults(): incompatible function arguments" in said
    assert "(tensor: torch.Tensor, scale: float = 1.5, sizes: collections.abc.Sequence[int] = [1, 2]" in said
    assert "Invoked with: [1]; kwargs: mode='sum'" in said


_COUNTS = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import semantics
tensor = torch.arange(6.0)
before = sys.getrefcount(tensor), tensor._use_count()
for _ in range(100):
    semantics.same(tensor), semantics.tensors([tensor, tensor]), semantics.four(tensor), semantics.maybe(tensor)
    semantics.makes(tensor, 5), semantics.asks(tensor, 17)
print(before == (sys.getrefcount(tensor), tensor._use_count()))
kept = torch.full((1,), 7.0)
semantics.kept(kept)
del kept
print(semantics.kept(torch.ones(1)))
"""


def test_tensors_are_neither_leaked_nor_freed_early(slim: Path) -> None:
    """Calls leave a tensor's reference counts as they were; what a module keeps stays alive."""
    assert python(_COUNTS, str(slim)).split() == ["True", "702"]


def test_a_torch_without_the_short_way_to_python_objects_does_as_well(tmp_path: Path) -> None:
    """Where torch does not export how a tensor becomes a Python object, results take a longer way, without a leak."""
    needs_cxx()
    runtime = tmp_path / "runtime.o"
    run((*fast.runtime_commands(tools(), str(runtime))[0].argv, "-DTHPVariable_Wrap=not_exported"), tmp_path)
    build_slim(Request(name="semantics", cpp=_SOURCE), tmp_path, runtime)
    assert python(_COUNTS, str(tmp_path)).split() == ["True", "702"]


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("del torch._C._aoti.unsafe_alloc_void_ptr_from_tensor", "unsafe_alloc_void_ptr_from_tensor"),
        (
            "other, real = torch.ones(1), torch._C._aoti.unsafe_alloc_void_ptr_from_tensor\n"
            "torch._C._aoti.unsafe_alloc_void_ptr_from_tensor = lambda tensor: real(other)",
            "no at::Tensor found behind the Python object",
        ),
        ("torch.empty = lambda sizes: torch.ones(2)", "sizes"),
    ],
)
def test_an_unknown_torch_is_left_to_the_full_build(slim: Path, patch: str, why: str) -> None:
    """Where tensors do not lie where slim modules expect them, the import fails before any call can go wrong."""
    said = python(
        f"import sys, torch; sys.path.insert(0, sys.argv[1])\n{patch}\n"
        "try: import semantics\n"
        "except ImportError as error: print(error)",
        str(slim),
    )
    assert said.startswith("slim: ")
    assert why in said


def test_overloads_are_left_to_the_full_build(tmp_path: Path) -> None:
    """A module with two functions of one name cannot be imported as a slim one."""
    needs_cxx()
    text = (
        "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n"
        '  m.def("f", [](int a) { return a; });\n  m.def("f", [](float a) { return a; });\n}\n'
    )
    build_slim(Request(name="twice", cpp=text), tmp_path, tmp_path / "runtime.o")
    said = python(
        "import sys, torch; sys.path.insert(0, sys.argv[1])\ntry: import twice\nexcept ImportError as e: print(e)",
        str(tmp_path),
    )
    assert said.startswith("slim: overloads")


def test_the_toolchain_of_this_interpreter_is_complete() -> None:
    """What the slim path needs to know of torch is read from its files."""
    needs_cxx()
    assert tools().torch_includes
    assert tools().python_include
