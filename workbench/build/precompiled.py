"""torch/extension.h, precompiled for full builds of C++ text: once for compiler, flags and torch, in the background.

The first such build goes without it. g++ takes the file in place of a header that does nothing but include torch's,
before a unit's own first line includes that, and only with the same flags; otherwise it compiles the header as ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from pathlib import Path

from workbench.build import torch_headers
from workbench.build.cache import Cache
from workbench.build.full import precompiled_header_command, uses_precompiled_command
from workbench.build.jobs import JOB_BYTES, Slots, available_bytes
from workbench.build.keys import content_key
from workbench.build.model import CPP_UNIT, Request, Result, Toolchain
from workbench.build.torch_headers import Without

_SOURCE = "early.h"
FILE = f"{_SOURCE}.gch"
"""Beside its source in a job's folder, where g++ looks for it."""
_TAKEN = re.compile(rf"^! (?:\./)?{re.escape(FILE)}$", re.MULTILINE)
_LEAST_CACHE = 4_000_000_000
"""Bytes of a cache in which a header of 0.8 GB leaves enough room for libraries."""
_MOST_KEPT = 2
_LIMIT_S = 600.0
_OF_THE_HEADER = re.compile(r"\bPCH\b|precompiled|\.gch\b")


class PrecompiledHeaders:
    """Finds the header for a build, and makes it for the next one. One is made at a time."""

    def __init__(self, cache: Cache, toolchain: Toolchain) -> None:
        self._cache = cache
        self._toolchain = toolchain
        self._tried: set[str] = set()
        self._making: asyncio.Task[None] | None = None

    async def lay(self, request: Request, without: Without | None, place: Path) -> str:
        """Put the header into a job's folder; its name for the compiler, empty where there is none."""
        if not self._serves(request):
            return ""
        entry = await asyncio.to_thread(self._cache.find, self._key(request, without))
        if entry is None:
            return ""
        try:
            (place / FILE).hardlink_to(entry.file)  # also there for g++ when the entry is removed meanwhile
        except OSError:
            return ""
        _write(place / _SOURCE)
        return _SOURCE

    def prepare(self, request: Request, without: Without | None) -> None:
        """Begin to make the header for builds like this one, unless that was tried before or there is no room."""
        key = self._key(request, without)
        idle = self._making is None or self._making.done()
        room = self._cache.limit >= _LEAST_CACHE and available_bytes() >= 2 * JOB_BYTES
        if self._serves(request) and idle and room and key not in self._tried:
            self._tried.add(key)
            self._making = asyncio.ensure_future(self._make(request, without, key))

    async def made(self) -> None:
        """Wait until nothing is being made."""
        if self._making is not None:
            await asyncio.gather(self._making, return_exceptions=True)

    async def close(self) -> None:
        """End what is being made; no compiler runs when this returns."""
        if self._making is not None:
            self._making.cancel()
        await self.made()

    async def _make(self, request: Request, without: Without | None, key: str) -> None:
        with contextlib.suppress(OSError), self._cache.workplace() as place:
            if await asyncio.to_thread(self._cache.find, key) is not None:
                return
            _write(place / _SOURCE)
            torch_headers.write(without, self._toolchain, place)
            tools, slots = torch_headers.with_fewer(self._toolchain, without), Slots(1).behind()
            command = precompiled_header_command(tools, request, _SOURCE, FILE)
            if (await slots.run(command, place, _LIMIT_S)).ok and await _is_taken(tools, request, place, slots):
                await asyncio.to_thread(self._cache.publish, key, place / FILE, {"made_by": "header"})
                self._keep_newest()

    def _keep_newest(self) -> None:
        made = [entry for entry in self._cache.entries() if entry.made_by == "header"]
        for entry in made[:-_MOST_KEPT]:
            self._cache.remove(entry.key)

    def _key(self, request: Request, without: Without | None) -> str:
        tools = torch_headers.with_fewer(self._toolchain, without)
        command = precompiled_header_command(tools, request, _SOURCE, FILE)
        replaced = torch_headers.REPLACED[without] if without else {}
        return content_key("header", tools, argv=command.argv, replaced=dict(replaced))

    def _serves(self, request: Request) -> bool:
        """Whether all headers below torch/extension.h are torch's own, the system's and the compiler's for sure."""
        own = request.includes or any(flag.startswith("-I") for flag in request.cpp_flags)
        variables = any(map(os.environ.get, ("CPATH", "CPLUS_INCLUDE_PATH")))
        return bool(request.cpp and self._toolchain.torch_includes) and not (own or variables)


async def _is_taken(tools: Toolchain, request: Request, place: Path, slots: Slots) -> bool:
    """Whether the compiler, asked which headers it reads, names the precompiled one."""
    _write(place / CPP_UNIT)
    done = await slots.run(uses_precompiled_command(tools, request, _SOURCE), place, _LIMIT_S)
    return done.ok and _TAKEN.search(done.output) is not None


def _write(file: Path) -> None:
    file.write_text("#include <torch/extension.h>\n", encoding="ascii")


def at_fault(result: Result, place: Path) -> bool:
    """Whether a build that used the header may have failed for its sake: the compiler made no object, for no error of
    the text's."""
    if result.ok or (place / "main.o").exists():
        return False
    of_the_text = any(finding.severity == "error" and finding.unit for finding in result.findings)
    return not of_the_text or _OF_THE_HEADER.search(result.reason) is not None
