"""Reads the names that ELF files define and lack: shared libraries, and objects that are not linked yet.

Files may come from untrusted text: whatever does not read as ELF raises :class:`NotElf`.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB, _DYNAMIC, _DYNSYM, _GNU_HASH = 2, 6, 11, 0x6FFFFFF6
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_GLOBAL, _LOCAL = 1, 0
_MOST_SECTIONS = 100_000


class NotElf(Exception):
    """The file cannot be read as a little-endian 64-bit ELF file."""


@dataclass(frozen=True)
class _Section:
    kind: int
    offset: int
    size: int
    link: int


class Elf:
    """An ELF file; NotElf or OSError when it is made, or later when it turns out to be damaged."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            try:
                self._bytes = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:
                raise NotElf(f"{file} is empty") from None
        if self._bytes[:6] != b"\x7fELF\x02\x01":
            raise NotElf(f"{file} is no 64-bit ELF file")
        self._sections = self._read_sections()

    def lacking(self) -> list[str]:
        """Names that it needs from elsewhere, without those that may be missing (weak ones)."""
        return [name for name, bind, place in self._symbols() if place == 0 and bind == _GLOBAL and name]

    def defined(self) -> set[str]:
        """Names that it defines for others: slow for large files."""
        return {name for name, bind, place in self._symbols() if place != 0 and bind != _LOCAL}

    def defines(self, name: str) -> bool:
        """Whether a shared library defines a name, by its table of hashes as the loader does where it has GNU's."""
        if all(section.kind != _GNU_HASH for section in self._sections):
            return name in self.defined()
        hashes, symbols = self._only(_GNU_HASH), self._only(_DYNSYM)
        buckets, first, words, _ = self._words("<4I", hashes.offset)
        table = hashes.offset + 16 + 8 * words
        wanted = name.encode()
        code = _hash(wanted)
        index = self._words("<I", table + 4 * (code % buckets))[0] if buckets else 0
        while index >= max(first, 1):
            chained = self._words("<I", table + 4 * (buckets + index - first))[0]
            if chained | 1 == code | 1 and self._is_defined_here(symbols, index, wanted):
                return True
            if chained & 1:
                return False
            index += 1
        return False

    def needed(self) -> tuple[list[str], list[str]]:
        """The libraries that it names, and the folders where it says they are, ``$ORIGIN`` included."""
        found: dict[int, list[str]] = {_NEEDED: [], _RPATH: [], _RUNPATH: []}
        for section in self._sections:
            for at in range(section.offset, section.offset + section.size, 16) if section.kind == _DYNAMIC else ():
                tag, value = self._words("<QQ", at)
                if tag in found:
                    found[tag].append(self._text(self._sections[section.link].offset + value).decode(errors="replace"))
        folders = [folder for paths in (*found[_RPATH], *found[_RUNPATH]) for folder in paths.split(":") if folder]
        return found[_NEEDED], folders

    def _symbols(self) -> Iterator[tuple[str, int, int]]:
        """Name, binding and section (0: elsewhere) of each symbol, of the loader's table where there is one."""
        kinds = {section.kind for section in self._sections}
        symbols = self._only(_DYNSYM if _DYNSYM in kinds else _SYMTAB)
        names = self._sections[symbols.link].offset
        for at in range(symbols.offset, symbols.offset + symbols.size, _SYMBOL.size):
            name, info, _, place, _, _ = self._words(_SYMBOL.format, at)
            yield self._text(names + name).decode(errors="replace"), info >> 4, place

    def _is_defined_here(self, symbols: _Section, index: int, wanted: bytes) -> bool:
        name, _, _, place, _, _ = self._words(_SYMBOL.format, symbols.offset + index * _SYMBOL.size)
        return place != 0 and self._text(self._sections[symbols.link].offset + name) == wanted

    def _read_sections(self) -> list[_Section]:
        offset = self._words("<Q", 0x28)[0]
        size, count = self._words("<HH", 0x3A)
        if not offset or size != _SECTION.size or count > _MOST_SECTIONS:
            raise NotElf("it has no table of sections")
        rows = [self._words(_SECTION.format, offset + size * row) for row in range(count)]
        return [_Section(kind=row[1], offset=row[4], size=row[5], link=row[6] if row[6] < count else 0) for row in rows]

    def _only(self, kind: int) -> _Section:
        found = next((section for section in self._sections if section.kind == kind), None)
        if found is None:
            raise NotElf(f"it has no section of kind {kind}")
        return found

    def _words(self, form: str, at: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(form, self._bytes, at)
        except (struct.error, OverflowError):
            raise NotElf("it is cut off") from None

    def _text(self, at: int) -> bytes:
        end = self._bytes.find(b"\0", at) if at < len(self._bytes) else -1
        if end < 0:
            raise NotElf("it is cut off")
        return self._bytes[at:end]


def _hash(name: bytes) -> int:
    """GNU's hash of a symbol's name."""
    code = 5381
    for byte in name:
        code = (code * 33 + byte) & 0xFFFFFFFF
    return code
