"""Values as raw bytes with a declared header: tensors, numbers, strings, None, and sequences and dicts of them.

``pack`` writes tensors into a shared region and returns a JSON header; ``unpack`` reads them back. The reading side
trusts nothing: every offset, length, shape and dtype is checked against the region before a byte is touched.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from workbench.ranks.channel import Message
from workbench.ranks.shared import Region

_ALIGN = 64
_MAX_NODES = 10_000
_MAX_DEPTH = 64
_MAX_DIMS = 64
_MAX_ELEMENTS = 1 << 62

_NAMES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
)
DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in _NAMES if hasattr(torch, name)}


class PayloadError(ValueError):
    """A value that cannot travel, or a header that does not hold."""


class Packer:
    """Collects tensors of a value tree and lays them out in a region."""

    def __init__(self, start: int = 0) -> None:
        self.end = start
        self._tensors: list[tuple[int, torch.Tensor]] = []
        self._nodes = 0

    def add(self, value: Any, depth: int = 0) -> Message:
        """The header of one value; its tensors are laid out but not yet copied."""
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise PayloadError(f"the result has more than {_MAX_NODES} parts")
        if depth > _MAX_DEPTH:
            raise PayloadError(f"the result is nested more than {_MAX_DEPTH} deep")
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (tuple, list)):
            return {"t": "sequence", "items": [self.add(item, depth + 1) for item in value]}
        if isinstance(value, dict):
            items = [self.add(item, depth + 1) for item in value.values()]
            return {"t": "dict", "keys": [str(key) for key in value], "items": items}
        return _scalar(value)

    def _tensor(self, value: torch.Tensor) -> Message:
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            raise PayloadError(
                f"a {type(value).__name__} where a plain torch.Tensor is due (wait for it, or unwrap it)"
            )
        if value.layout is not torch.strided or value.is_nested or value.device.type == "meta":
            raise PayloadError(f"a tensor of layout {value.layout} on {value.device} has no plain bytes")
        offset = -(-self.end // _ALIGN) * _ALIGN
        nbytes = value.numel() * value.element_size()
        self.end = offset + nbytes
        self._tensors.append((offset, value))
        form = {"dtype": _dtype_name(value.dtype), "shape": list(value.shape), "device": value.device.type}
        return {"t": "tensor", **form, "at": offset}

    def copy_into(self, region: Region) -> None:
        """Copy all tensors to their places."""
        if not self._tensors:
            return
        room = region.ensure(self.end)
        for offset, tensor in self._tensors:
            if tensor.numel():
                flat = tensor.detach().resolve_conj().resolve_neg().reshape(-1)
                torch.frombuffer(room, dtype=flat.dtype, count=flat.numel(), offset=offset).copy_(flat)


def pack(value: Any, region: Region, start: int = 0) -> tuple[Message, int]:
    """Write ``value`` into ``region`` from byte ``start`` on; its header and the first free byte."""
    packer = Packer(start)
    header = packer.add(value)
    packer.copy_into(region)
    return header, packer.end


def unpack(header: Any, region: Region) -> Any:
    """The value of a header, its tensors as views of the region (copy them before the region is written again)."""
    return _unpack(header, region, [0], 0)


def structure(header: Any) -> str:
    """A header in words, for messages: ``(bfloat16[4, 8], int)``."""
    kind = header.get("t")
    if kind == "tensor":
        return f"{header['dtype']}{header['shape']}"
    if kind == "sequence":
        return f"({', '.join(structure(item) for item in header['items'])})"
    if kind == "dict":
        return "{" + ", ".join(f"{k}: {structure(v)}" for k, v in zip(header["keys"], header["items"])) + "}"
    return str(kind)


def _scalar(value: Any) -> Message:
    if value is None:
        return {"t": "None"}
    for kind in (bool, int, str):
        if type(value) is kind:
            return {"t": kind.__name__, "v": value}
    if type(value) is float:
        return {"t": "float", "v": repr(value)}
    raise PayloadError(f"a {type(value).__name__} is neither a tensor nor a number, string, None, tuple, list or dict")


def _dtype_name(dtype: torch.dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise PayloadError(f"dtype {name} cannot travel between ranks and judge")
    return name


def _unpack(header: Any, region: Region, nodes: list[int], depth: int) -> Any:
    nodes[0] += 1
    if nodes[0] > _MAX_NODES or depth > _MAX_DEPTH or not isinstance(header, dict):
        raise PayloadError("a malformed header")
    kind = header.get("t")
    if kind == "tensor":
        return _view(header, region)
    if kind in ("sequence", "dict"):
        return _unpack_container(header, region, nodes, depth)
    if kind == "None":
        return None
    value = header.get("v")
    if kind == "float" and isinstance(value, str) and len(value) < 64:
        return float(value)
    if type(value).__name__ != kind or kind not in ("bool", "int", "str"):
        raise PayloadError("a malformed header")
    return value


def _unpack_container(header: Message, region: Region, nodes: list[int], depth: int) -> Any:
    items = header.get("items")
    if not isinstance(items, list):
        raise PayloadError("a malformed header")
    values = [_unpack(item, region, nodes, depth + 1) for item in items]
    if header["t"] == "sequence":
        return tuple(values)
    keys = header.get("keys")
    if not isinstance(keys, list) or len(keys) != len(values) or not all(isinstance(key, str) for key in keys):
        raise PayloadError("a malformed header")
    return dict(zip(keys, values))


def _view(header: Message, region: Region) -> torch.Tensor:
    dtype, shape, offset = DTYPES.get(str(header.get("dtype"))), _shape(header.get("shape")), header.get("at")
    if dtype is None or type(offset) is not int or offset < 0 or offset % _ALIGN:
        raise PayloadError("a malformed tensor header")
    count = math.prod(shape)
    if not count:
        return torch.empty(shape, dtype=dtype)
    room = region.mapped(offset + count * dtype.itemsize)
    return torch.frombuffer(room, dtype=dtype, count=count, offset=offset).reshape(shape)


def _shape(value: Any) -> list[int]:
    if not isinstance(value, list) or len(value) > _MAX_DIMS or not all(type(n) is int and n >= 0 for n in value):
        raise PayloadError("a malformed tensor header")
    # torch computes strides even where a dimension is 0, and overflows
    if math.prod(max(n, 1) for n in value) >= _MAX_ELEMENTS:
        raise PayloadError("a malformed tensor header")
    return value
