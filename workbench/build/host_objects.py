"""The host's object of a CUDA unit, kept for as long as g++ is given the same text: most edits of kernels leave it.

nvcc's last step compiles what cudafe++ wrote of the host's code, the list of kernels, and the device's code as numbers
that fill one section. The address of an object is that step's command and its text after the preprocessor, line
numbers included and those numbers left out. An object found there gets the new code into its section.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from workbench.build.cache import Cache
from workbench.build.jobs import Done, Slots
from workbench.build.keys import content_key
from workbench.build.model import Command, Toolchain

_SECTION = ".nv_fatbin"
_CODE, _CODE_TEXT = "cuda.fatbin", "cuda.fatbin.c"
"""What fatbinary makes: the section's content, and the text that fills the section with it."""
_NUMBERS = re.compile(r'^"\.quad [x\da-f, ]+\\n"\n', re.MULTILINE)
_LENGTH = re.compile(r"\bfatbinData\[\d+\]")
_MARKER = re.compile(rb'# (\d+) ("(?:[^"\\]|\\.)*")(?: 1| 2)?( 3)?(?: 4)?')
"""A preprocessor's line that says where the next one comes from; 3 stands for a header of the system's."""


class HostObjects:
    """Runs the last step of a CUDA compilation, or puts an earlier object in its place."""

    def __init__(self, cache: Cache, toolchain: Toolchain) -> None:
        self._cache = cache
        self._toolchain = toolchain
        self._objcopy = shutil.which("objcopy") or ""

    async def compile(self, last: Command, place: Path, slots: Slots, limit: float) -> Done:
        """The step's end: its object is in the job's folder unless it failed."""
        key = await self._key(last, place, slots, limit) if self._objcopy else ""
        found = await self._reuse(key, last, place, slots, limit) if key else None
        if found is not None:
            return found
        done = await slots.run(last, place, limit)
        if key and done.ok and not done.output:  # a warning would be lost the next time
            await self._keep(key, last, place, slots, limit)
        return done

    async def _key(self, last: Command, place: Path, slots: Slots, limit: float) -> str:
        """Where the step's object is kept; empty where that cannot be told."""
        out = f"{last.output}.ii"
        words = [{"-c": "-E", last.output: out}.get(word, word) for word in last.argv]
        command = Command(argv=tuple(words), output=out, environment=last.environment)
        with _without_code(place / _CODE_TEXT) as known:
            done = await slots.run(command, place, limit) if known else None
        if done is None or not done.ok:
            return ""
        digest = await asyncio.to_thread(_digest_of, place / out)
        return content_key("host", self._toolchain, step=(last.argv, last.environment), text=digest)

    async def _reuse(self, key: str, last: Command, place: Path, slots: Slots, limit: float) -> Done | None:
        """An earlier object with this text's device code in it; None where there is none."""
        entry = self._cache.find(key)
        if entry is None:
            return None
        argv = (self._objcopy, "--update-section", f"{_SECTION}={_CODE}", str(entry.file), last.output)
        done = await slots.run(Command(argv=argv, output=last.output), place, limit)
        if done.ok and await self._holds_code(last.output, place, slots, limit):
            return done
        (place / last.output).unlink(missing_ok=True)  # write-protected as the kept one is
        return None

    async def _keep(self, key: str, last: Command, place: Path, slots: Slots, limit: float) -> None:
        if not await self._holds_code(last.output, place, slots, limit):
            return
        with contextlib.suppress(OSError):  # a full disk is no reason to fail what was made
            shutil.copyfile(place / last.output, place / "host.o")
            self._cache.publish(key, place / "host.o", {"made_by": "host"})

    async def _holds_code(self, file: str, place: Path, slots: Slots, limit: float) -> bool:
        """Whether the section of an object file is the device's code, to the last byte."""
        argv = (self._objcopy, "-O", "binary", f"--only-section={_SECTION}", file, f"{file}.code")
        done = await slots.run(Command(argv=argv, output=f"{file}.code"), place, limit)
        try:
            return done.ok and (place / f"{file}.code").read_bytes() == (place / _CODE).read_bytes()
        except OSError:
            return False


@contextlib.contextmanager
def _without_code(file: Path) -> Iterator[bool]:
    """Have the file say the same without the device's code for a while; False where there is no such file.

    The file itself only moves: whatever happens meanwhile, the step never compiles anything else.
    """
    whole = file.with_name(f"{file.name}.whole")
    try:
        os.replace(file, whole)
    except OSError:
        yield False
        return
    try:
        file.write_text(without_code(whole.read_text(encoding="latin-1")), encoding="latin-1")
        yield True
    finally:
        os.replace(whole, file)


def without_code(text: str) -> str:
    """The text that holds the device's code, without it and its length."""
    return _LENGTH.sub("fatbinData[1]", _NUMBERS.sub("", text))


def _digest_of(file: Path) -> str:
    return text_digest(file.read_bytes())


def text_digest(text: bytes) -> str:
    """The digest of preprocessed text: every line that is not empty, with its file and number. Hex SHA-256.

    How many empty lines and markers bring a line to its number does not count: what is left out leaves those. Nor does
    a pragma's number, which cudafe++ does not set again behind a kernel; nothing that is compiled depends on it.
    """
    hashed = hashlib.sha256()
    number, where = 1, b""
    for line in text.split(b"\n"):
        if line.startswith(b"# ") and (marker := _MARKER.fullmatch(line)):
            number, where = int(marker[1]), marker[2] + (marker[3] or b"")
            continue
        if line.strip():
            shown = 0 if line.startswith(b"#pragma ") else number
            hashed.update(b"%d %b %b\n" % (shown, where, line))
        number += 1
    return hashed.hexdigest()
