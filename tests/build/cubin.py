"""The machine code of each kernel of a cubin, which is an ELF file of 64 bits."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from pathlib import Path

_HEADER = struct.Struct("<16s HHI QQQ I HHHHHH")
_SECTION = struct.Struct("<II QQQQ II QQ")


def kernels(cubin: Path) -> Mapping[str, bytes]:
    """Machine code by mangled name, unnamed namespaces without their digest."""
    data = cubin.read_bytes()
    fields = _HEADER.unpack_from(data)
    start, size, count, names_at = fields[6], fields[11], fields[12], fields[13]
    sections = [_SECTION.unpack_from(data, start + size * i) for i in range(count)]
    names = sections[names_at][4]
    found = {}
    for name, _, _, _, offset, length, *_ in sections:
        title = data[names + name : data.index(b"\0", names + name)].decode()
        if title.startswith(".text."):
            # Names in unnamed namespaces carry a digest of the preprocessed text.
            found[re.sub(r"_GLOBAL__N__\w+?_cu_[0-9a-f]{8}", "_GLOBAL__N_", title.removeprefix(".text."))] = data[
                offset : offset + length
            ]
    return found
