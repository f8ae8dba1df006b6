"""Content addresses: everything that a library depends on, as one digest."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.build.model import CPP_UNIT, CUDA_UNIT, Request, Toolchain

VERSION = 2
"""Raised when a change of the build service makes other libraries from the same request."""
ENVIRONMENT = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")
"""Variables that change what compilers do."""


def content_key(what: str, toolchain: Toolchain, **more: Any) -> str:
    """The address of what is made by ``what`` with these tools from all that is given; hex SHA-256."""
    variables = {name: os.environ.get(name, "") for name in ENVIRONMENT}
    facts = {"what": what, "version": VERSION, "tools": dataclasses.asdict(toolchain), "variables": variables, **more}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def library_key(request: Request, toolchain: Toolchain, made_by: str, arch: str, version: str) -> str:
    """The address of a request's library; ``version`` is that of the headers it is built with."""
    return content_key(made_by, toolchain, request=dataclasses.asdict(request), arch=arch, headers=version)


def user_headers(place: Path, toolchain: Toolchain) -> list[Path]:
    """The headers that went into the units of a job's folder and belong neither to tools, torch nor the system."""
    own = (
        "/usr/",
        toolchain.torch_root,
        toolchain.cuda_home,
        toolchain.python_include,
        str(Path(__file__).parent),
        str(place),
    )
    foreign = [os.path.join(os.path.realpath(folder), "") for folder in own if folder]
    found: dict[Path, None] = {}
    for unit in (CUDA_UNIT, CPP_UNIT):
        for word in _dependencies(place / f"{unit}.d"):
            path = os.path.realpath(place / word)
            if not path.startswith(tuple(foreign)):
                found[Path(path)] = None
    return list(found)


def stands_alone(request: Request, linked: bool) -> bool:
    """Whether all that it is compiled from, and ``linked`` with, is in the request or belongs to the tools.

    The same request would give the same errors again then.
    """
    flags = (*request.cuda_flags, *request.cpp_flags)
    reads = any(flag.startswith("-I") for flag in flags) or any(map(os.environ.get, ("CPATH", "CPLUS_INCLUDE_PATH")))
    named = re.search(r"[\"<]\s*(?:/|\.\./)", request.cuda + request.cpp)
    return not (request.includes or reads or named or (linked and request.ld_flags))


def static_libraries(ld_flags: Sequence[str]) -> list[Path]:
    """The static libraries that these flags may link in: another content of theirs makes another library."""
    folders = [Path(flag[2:]) for flag in ld_flags if flag.startswith("-L")]
    names = [flag[3:] if flag.startswith("-l:") else f"lib{flag[2:]}.a" for flag in ld_flags if flag.startswith("-l")]
    given = [Path(flag) for flag in ld_flags if flag.startswith("/")]
    found = [*given, *(folder / name for folder in folders for name in names)]
    return [path for path in found if path.suffix == ".a" and path.is_file()]


def _dependencies(file: Path) -> list[str]:
    """The files named in a make rule."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    words = re.findall(r"(?:\\ |[^\s\\])+", text.partition(": ")[2] or text.partition(":")[2])
    return [word.replace("\\ ", " ") for word in words]
