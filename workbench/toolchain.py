"""The compilers that this machine offers for kernels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

_ASK_SECONDS = 10.0


def find_nvcc() -> str:
    """CUDA's compiler: on PATH, else below CUDA_HOME or CUDA_PATH, else in the usual folder; empty for none."""
    homes = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    places = [Path(home) / "bin" / "nvcc" for home in (*homes, "/usr/local/cuda") if home]
    return shutil.which("nvcc") or next((str(path) for path in places if os.access(path, os.X_OK)), "")


def nvcc_version(nvcc: str) -> str:
    """The CUDA release of a compiler, for example ``13.0``; empty when it does not answer."""
    found = re.search(r"release ([\d.]+)", ask([nvcc, "--version"]))
    return found[1] if found else ""


def ask(command: Sequence[str], seconds: float = _ASK_SECONDS) -> str:
    """What a command prints to stdout; empty when it cannot be run or takes longer."""
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout
