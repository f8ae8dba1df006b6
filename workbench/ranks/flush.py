"""Cold caches: before a timed call the device's last cache is filled with other data."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import torch

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNKNOWN_CACHE = 32 << 20
_UNITS = {"K": 1 << 10, "M": 1 << 20}


class Flush:
    """Writes twice the bytes of a device's last cache to a buffer that it keeps; made before candidates are there."""

    def __init__(self, cache_bytes: int, device: torch.device, forget: Callable[[], object] = lambda: None) -> None:
        self._bytes = 2 * cache_bytes
        self._device = device
        self._forget = forget
        self._buffer: torch.Tensor | None = None
        self._refused = False
        self._empty, self._fill = torch.empty, torch.Tensor.fill_

    def __call__(self) -> bool:
        """Fill the cache; False where there is no memory for it, then and from then on."""
        if self._buffer is None and not self._refused:
            try:
                self._buffer = self._empty(self._bytes, dtype=torch.uint8, device=self._device)
            except RuntimeError:  # torch.OutOfMemoryError is one, and so is what the CPU's allocator raises
                self._refused = True
        if self._buffer is None:
            return False
        self._forget()
        self._fill(self._buffer, 1)
        return True


def cpu_flush() -> Flush:
    """For this machine's cores."""
    return Flush(last_cache(), torch.device("cpu"))


def cuda_flush(device: torch.device) -> Flush:
    """For a GPU's L2; lines that a kernel asked to persist are let go of first."""
    return Flush(torch.cuda.get_device_properties(device).L2_cache_size, device, _forget_persisting())


def last_cache(folder: Path = _CACHES) -> int:
    """Bytes of the first core's largest cache; 32 MiB where the system does not tell."""
    found = [_size(file) for file in folder.glob("index*/size")]
    return max(found, default=0) or _UNKNOWN_CACHE


def _size(file: Path) -> int:
    try:
        text = file.read_text().strip()
        return int(text.rstrip("KM")) * _UNITS.get(text[-1:], 1)
    except (OSError, ValueError):
        return 0


def _forget_persisting() -> Callable[[], object]:
    try:
        found: Callable[[], object] = ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache
    except (OSError, AttributeError):
        return lambda: None
    return found
