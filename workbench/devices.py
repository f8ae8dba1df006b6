"""Which device the ranks run on: what the machine has, and what the ranks' torch was built for. Never imports torch."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

from workbench.config import RanksSettings
from workbench.errors import UsageError
from workbench.target import DEVICES

_FIND = """\
import importlib.util, site, sys
sys.path.append(site.getusersitepackages())
found = importlib.util.find_spec("torch")
print(found.origin if found else "")
"""
_ASK_SECONDS = 10.0
_NVIDIA, _DISPLAY = "0x10de", "0x03"
"""The maker's number and the class of display and 3D controllers (PCI code and ID assignment)."""
_SHARE = "give `pkwb open` or `pkwb eval` --share-gpus (results are judged, nothing is timed)"
BY_BUS = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
"""Environment under which CUDA numbers GPUs as NVML and the tools around it do."""
NO_MULTICAST = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
"""Environment under which NCCL, PyTorch and NVSHMEM leave NVLink multicast alone."""
NO_WATCHDOG = {"TORCH_NCCL_RETHROW_CUDA_ERRORS": "0", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}
"""Environment in which a CUDA error is an exception with its line in the user's file: PyTorch's watchdog, which would
see it first, kills the process without a word of where it came from."""


def choose_device(wanted: str, world: int, python: str = "") -> str:
    """``cpu`` or ``cuda`` for a setting of ``auto`` or a device's name.

    ``auto`` is cuda where each of the ``world`` ranks gets a GPU of its own and the torch of ``python`` (empty: this
    interpreter's) can use it. UsageError where the ranks cannot run on the device that was asked for.
    """
    if wanted not in ("auto", *DEVICES):
        raise UsageError(f"ranks cannot run on {wanted}: use --device {' or '.join(DEVICES)}")
    if wanted == "cpu":
        return "cpu"
    obstacle = _cuda_obstacle(world, python)
    if obstacle and wanted == "cuda":
        raise UsageError(f"{obstacle}, or use --device cpu")
    return "cpu" if obstacle else "cuda"


def place_ranks(ranks: RanksSettings, world: int) -> tuple[str, int]:
    """The device of ``world`` ranks, as :func:`choose_device`, and how many GPUs they share.

    They share GPUs where the settings let them and there are fewer than ranks; 0: each rank has one of its own.
    """
    gpus = visible_gpus()
    shared = gpus if ranks.share_gpus and gpus < world else 0
    device = choose_device(ranks.device, shared or world, ranks.python)
    return device, shared if device == "cuda" else 0


def installed_gpus(dev: Path = Path("/dev")) -> int:
    """The machine's NVIDIA GPUs."""
    return sum(1 for path in dev.glob("nvidia[0-9]*") if path.name[6:].isdigit())


def pci_gpus(sys: Path = Path("/sys")) -> int:
    """NVIDIA GPUs on the PCI bus, whether a driver is loaded for them or not."""
    return sum(1 for device in sys.glob("bus/pci/devices/*") if _is_gpu(device))


def _is_gpu(device: Path) -> bool:
    try:
        vendor, kind = ((device / name).read_text().strip() for name in ("vendor", "class"))
    except OSError:
        return False
    return vendor == _NVIDIA and kind.startswith(_DISPLAY)


def visible_gpus(dev: Path = Path("/dev")) -> int:
    """NVIDIA GPUs that ranks may use: the machine's, narrowed by CUDA_VISIBLE_DEVICES.

    As CUDA does, names are read up to the first that is none, and one that stands twice leaves none at all; of
    instances (MIG) a process gets one.
    """
    there = installed_gpus(dev)
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return there
    names = list(itertools.takewhile(lambda name: _may_be_gpu(name, there), map(str.strip, chosen.split(","))))
    if len(set(names)) < len(names):
        return 0
    return min(there, 1 if any(name.startswith("MIG-") for name in names) else len(names))


def _may_be_gpu(name: str, there: int) -> bool:
    """Whether a name can mean a GPU: a number of one that is there, or a UUID, which is not looked up."""
    return int(name) < there if name.isdigit() else name.startswith(("GPU-", "MIG-"))


def torch_cuda(python: str = "") -> str:
    """The CUDA version that an interpreter's torch was built for, by its version file; empty for CPU builds."""
    origin = _torch_origin(python)
    try:
        text = (Path(origin).parent / "version.py").read_text(encoding="utf-8") if origin else ""
    except OSError:
        return ""
    found = re.search(r"^cuda\b[^=]*=\s*['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return found[1] if found else ""


def _cuda_obstacle(world: int, python: str) -> str:
    """What keeps ``world`` ranks off the GPUs, as advice; empty when nothing does."""
    gpus = visible_gpus()
    if gpus < world:
        most = f"use --ranks {gpus} or fewer, {_SHARE}" if gpus else "run on a machine with NVIDIA GPUs"
        return f"{world} ranks need {world} GPUs and {gpus} can be seen: {most}"
    if not torch_cuda(python):
        return "the ranks' torch is a CPU build: set ranks.python to an interpreter with a CUDA build of torch"
    return ""


def _torch_origin(python: str) -> str:
    if not python:
        spec = find_spec("torch")
        return spec.origin or "" if spec else ""
    try:
        answer = subprocess.run(
            [python, "-I", "-c", _FIND], capture_output=True, text=True, timeout=_ASK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip()
