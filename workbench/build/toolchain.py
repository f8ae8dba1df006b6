"""Finds the compilers of this machine and the torch of the ranks' interpreter, without importing it. Blocking."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from workbench.build.model import Toolchain
from workbench.toolchain import ask, find_nvcc

_PROBE = """
import importlib.util, json, os, re, site, sys, sysconfig
spec = importlib.util.find_spec("torch")
if spec is None:
    sys.path.append(site.getusersitepackages())
    spec = importlib.util.find_spec("torch")
root = os.path.dirname(spec.origin) if spec and spec.origin else ""
def text(name):
    try:
        with open(os.path.join(root, name), encoding="utf-8") as file:
            return file.read() if root else ""
    except OSError:
        return ""
version, builds = text("version.py"), text("utils/cpp_extension.py")
def first(pattern, where, default=""):
    found = re.search(pattern, where, re.MULTILINE | re.DOTALL)
    return found[1] if found else default
print(json.dumps({
    "torch": first(r"^__version__\\b[^=]*=\\s*['\\"]([^'\\"]+)", version),
    "torch_cuda": first(r"^cuda\\b[^=]*=\\s*['\\"]([\\d.]+)", version),
    "torch_root": root,
    "std": int(first(r"-std=c\\+\\+(\\d\\d)", builds, "17")),
    "nvcc_flags": re.findall(r"['\\"]([^'\\"]+)['\\"]", first(r"^COMMON_NVCC_FLAGS = \\[(.*?)\\]", builds)),
    "python_include": sysconfig.get_path("include", "posix_prefix"),
    "soabi": sysconfig.get_config_var("SOABI") or "",
}))
"""
"""Run by the ranks' interpreter; reads torch's files, since its import takes seconds."""


def find_toolchain(python: str = "") -> Toolchain:
    """What is there now; what is missing is empty. ``python`` is the ranks' interpreter, empty for this one."""
    interpreter = python or sys.executable
    found = _torch_of(interpreter)
    root = Path(found["torch_root"]) if found.get("torch_root") else None
    nvcc = find_nvcc()
    cxx = shutil.which(os.environ.get("CXX") or "g++") or ""
    return Toolchain(
        nvcc=nvcc,
        nvcc_version=_version(nvcc, r"\bV([\d.]+)"),
        cxx=cxx,
        cxx_version=_version(cxx, r"([\d.]+)\s*$"),
        libstdcxx=_shared_library(cxx),
        cuda_home=_cuda_home(nvcc),
        python=interpreter,
        torch_includes=(str(root / "include"), str(root / "include/torch/csrc/api/include")) if root else (),
        torch_lib=str(root / "lib") if root else "",
        **found,
    )


def link_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """One C++ library in the process: a second copy would share torch's numbers of its locales and hold none of them.

    Texts with numbers would be cut short then, or end the process. What is linked in all the same stays apart.
    """
    apart = ("-Wl,--exclude-libs,libstdc++.a:libsupc++.a",) if sys.platform == "linux" else ()
    return (toolchain.libstdcxx, *apart) if toolchain.libstdcxx else apart


def _shared_library(cxx: str) -> str:
    """The shared C++ library of a compiler that does not find it under its plain name; empty where it does."""
    names = ("libstdc++.so", "libstdc++.so.6")
    plain, numbered = (ask([cxx, f"-print-file-name={name}"]).strip() if cxx else "" for name in names)
    return numbered if os.path.isabs(numbered) and not os.path.isabs(plain) else ""


def _torch_of(interpreter: str) -> dict[str, Any]:
    try:
        found = json.loads(ask([interpreter, "-I", "-c", _PROBE]))
    except ValueError:
        return {}
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}


def _cuda_home(nvcc: str) -> str:
    """The folder that holds CUDA's headers; nvcc itself may be a link or a small script that stands elsewhere."""
    named = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    homes = [str(Path(nvcc).resolve().parent.parent), *named, "/usr/local/cuda", "/usr"] if nvcc else []
    return next((home for home in homes if home and Path(home, "include", "cuda_runtime.h").is_file()), "")


def _version(program: str, pattern: str) -> str:
    """A version in the first lines of what a compiler says of itself; empty for no compiler."""
    lines = ask([program, "--version"]).splitlines() if program else []
    found = next((match for line in lines if (match := re.search(pattern, line))), None)
    return found[1] if found else ""
