"""The C++ library that extensions are linked with."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.build.fakes import toolchain
from tests.build.slim_builds import build_slim, needs_cxx, python
from workbench.build.fast import slim_commands
from workbench.build.full import full_commands
from workbench.build.model import Request
from workbench.build.toolchain import find_toolchain

_NUMBERS = """
#include <torch/extension.h>
std::string told(int64_t n, double x) {
  TORCH_CHECK(n < 5, "n is ", n, ", not ", x);
  std::ostringstream out;
  out << n << ' ' << x << ' ' << torch::Device(torch::kCUDA, 1);
  return out.str();
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("told", &told); }
"""
_CALLS = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import numbers_told
print(numbers_told.told(3, 1.5))
try: numbers_told.told(7, 2.5)
except RuntimeError as error: print(error)
"""


@pytest.mark.parametrize("flags", [(), ("-static-libstdc++",)])
def test_texts_with_numbers(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Errors and texts hold their numbers, also where the compiler links a C++ library of its own in."""
    needs_cxx()
    build_slim(Request(name="numbers_told", cpp=_NUMBERS, ld_flags=flags), tmp_path, tmp_path / "runtime.o")
    assert python(_CALLS, str(tmp_path)).splitlines() == ["3 1.5 cuda:1", "n is 7, not 2.5"]


FILES = {
    "as usual": ("/lib/libstdc++.so", "/lib/libstdc++.so.6", ""),
    "no plain name": ("libstdc++.so", "/lib/libstdc++.so.6", "/lib/libstdc++.so.6"),
    "static only": ("libstdc++.so", "libstdc++.so.6", ""),
}


@pytest.mark.parametrize("case", FILES)
def test_shared_library_without_its_plain_name(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the compiler would take the static C++ library for want of a link, the shared one is named to it."""
    plain, numbered, found = FILES[case]
    compiler = tmp_path / "cxx"
    compiler.write_text(
        f'#!/bin/sh\ncase "$1" in *=libstdc++.so) echo {plain};; *=libstdc++.so.6) echo {numbered};; esac\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert find_toolchain().libstdcxx == found


def test_both_builds_link_with_the_library_that_was_found(tmp_path: Path) -> None:
    """Quick and full build are linked with the same C++ library."""
    tools = dataclasses.replace(toolchain(tmp_path), libstdcxx="/lib/libstdc++.so.6")
    request = Request(name="k", cpp="int a;")
    links = [
        full_commands(request, tools, "90", "k.so")[-1][0],
        slim_commands(request, tools, "90", "r.o", "k.so")[-1][0],
    ]
    assert ["/lib/libstdc++.so.6" in link.argv for link in links] == [True, True]
