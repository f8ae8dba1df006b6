"""What the ranks' interpreter offers: one line of JSON on stdout.

Its text is run with ``-c``, so it imports the standard library and torch alone. On several GPUs it copies a few MB from
each to the next, which shows that copies arrive and gives the link counters something to count.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import sys
from typing import Any

import torch
import torch.distributed as dist

_ELEMENTS = 16 << 20
_MULTICAST_SUPPORTED = 132
"""CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED of cuda.h."""


def look() -> dict[str, Any]:
    """Versions, backends, GPUs, and whether each copy between neighbours arrived (empty = it did)."""
    count = torch.cuda.device_count()
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "",
        "python": sys.version.split()[0],
        "numpy": importlib.util.find_spec("numpy") is not None,
        "gloo": dist.is_available() and dist.is_gloo_available(),
        "nccl": _nccl(),
        "gpus": count,
        "multicast": _multicast(count),
        "peers": [[_reaches(gpu, peer) for peer in range(count)] for gpu in range(count)],
        "copies": [_copy(gpu, (gpu + 1) % count) for gpu in range(count)] if count > 1 else [],
    }


def _nccl() -> str:
    if not (dist.is_available() and dist.is_nccl_available()):
        return ""
    return ".".join(str(part) for part in torch.cuda.nccl.version())


def _multicast(count: int) -> bool | None:
    """Whether every GPU could use NVLink multicast; asking the driver for it switches nothing on."""
    if not count:
        return None
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    values = [_attribute(driver, gpu) for gpu in range(count)]
    return None if None in values else all(values)


def _attribute(driver: ctypes.CDLL, gpu: int) -> int | None:
    device, value = ctypes.c_int(), ctypes.c_int()
    failed = driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), gpu)
    failed = failed or driver.cuDeviceGetAttribute(ctypes.byref(value), _MULTICAST_SUPPORTED, device)
    return None if failed else value.value


def _reaches(gpu: int, peer: int) -> bool:
    """Whether a kernel on one GPU can use the memory of another."""
    return gpu == peer or torch.cuda.can_device_access_peer(gpu, peer)


def _copy(source: int, target: int) -> str:
    """Copy 64 MiB from one GPU to another; what went wrong, empty for nothing."""
    try:
        sent = torch.arange(_ELEMENTS, dtype=torch.int32, device=f"cuda:{source}")
        arrived = sent.to(f"cuda:{target}")
        expected = torch.arange(_ELEMENTS, dtype=torch.int32, device=f"cuda:{target}")
        return "" if torch.equal(arrived, expected) else "other values arrived"
    except RuntimeError as error:
        return str(error).splitlines()[0]


if __name__ == "__main__":
    print(json.dumps(look()))
