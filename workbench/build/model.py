"""What travels between the parts of the build service: requests, tools, compiler processes, findings, results."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

Way = Literal["slim", "full", "cached", "none"]
"""Which build made a library: with the slim headers, with torch's own, an earlier one of the two, or none at all."""
Severity = Literal["error", "warning", "note"]
CUDA_UNIT, CPP_UNIT = "cuda.cu", "main.cpp"
"""Names of the two units in a job's folder, and in compilers' messages."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One extension module that is to be built: text and flags only, as a candidate gave them."""

    name: str
    cuda: str = ""
    """CUDA text; empty for none."""
    cpp: str = ""
    """C++ text, the module's definition included where it is made from a list of functions; empty for none."""
    cuda_flags: tuple[str, ...] = ()
    cpp_flags: tuple[str, ...] = ()
    ld_flags: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    """Folders of headers, absolute."""

    @property
    def digest(self) -> str:
        """Hex SHA-256 of all of it."""
        return hashlib.sha256(json.dumps(dataclasses.asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """The compilers of this machine and the torch of the ranks' interpreter; empty texts for what is not there."""

    nvcc: str = ""
    nvcc_version: str = ""
    """As ``13.0.88``."""
    cxx: str = ""
    cxx_version: str = ""
    libstdcxx: str = ""
    """The shared C++ library, where the compiler by itself would link a static one in."""
    cuda_home: str = ""
    torch: str = ""
    torch_cuda: str = ""
    """The CUDA release that torch was built for; empty for a CPU build."""
    torch_root: str = ""
    torch_includes: tuple[str, ...] = ()
    torch_lib: str = ""
    std: int = 17
    """C++ standard of torch's own extension builds."""
    nvcc_flags: tuple[str, ...] = ()
    """What torch's own builds always give to nvcc."""
    python: str = ""
    python_include: str = ""
    soabi: str = ""
    cxx11_abi: bool = True

    def links(self, request: Request) -> bool:
        """Whether a full build ends with a library: a CPU build of torch has nothing to link CUDA text with."""
        return not request.cuda or bool(self.torch_cuda)


@dataclass(frozen=True, kw_only=True)
class Command:
    """One compiler process, run in its job's folder; ``output`` is the file that it makes."""

    argv: tuple[str, ...]
    output: str
    environment: tuple[tuple[str, str], ...] = ()
    """Variables beside those of the builder."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A compiler's message. ``unit`` is the unit's name, or the file's path where it is another file.

    Line and column count from 1; 0 = unknown.
    """

    severity: Severity
    message: str
    unit: str = ""
    line: int = 0
    column: int = 0


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of a request. ``library`` is empty unless it was built; it is there, and the result not ``ok``, where
    the library lacks names that only the candidate itself could bring."""

    name: str
    ok: bool
    way: Way
    seconds: float = 0.0
    library: str = ""
    made_by: Literal["slim", "full", ""] = ""
    """The build that the library comes from, also where it lay in the cache."""
    reason: str = ""
    """One line: why it failed."""
    findings: tuple[Finding, ...] = ()
    no_tools: bool = False
    """A compiler or torch is missing or does not fit: nothing was tried."""
    final: bool = False
    """The text is at fault: the same request would fail again."""
    machine: bool = False
    """The machine is at fault, or pkwb: there is no room on the disk, say, or the cache cannot be written."""
    at_link: bool = False
    """It compiled, and the linker failed."""
    slim_note: str = ""
    """Why the slim build was not taken, where it was not."""


def plain(value: Any) -> dict[str, Any]:
    """A dataclass of this module as plain data."""
    return dataclasses.asdict(value)


def read_result(data: dict[str, Any]) -> Result:
    """A result from plain data, as the builder sent it."""
    findings = tuple(Finding(**finding) for finding in data.get("findings", ()))
    return Result(**{**data, "findings": findings})


def read_request(data: dict[str, Any]) -> Request:
    """A request from plain data of a trusted sender."""
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    return Request(**fields)
