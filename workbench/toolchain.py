"""The compilers that this machine offers for kernels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

_ASK_SECONDS = 10.0


def find_nvcc() -> str:
    """CUDA's compiler: on PATH, else below CUDA_HOME or CUDA_PATH, else in the usual folder; empty for none."""
    homes = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    places = [Path(home) / "bin" / "nvcc" for home in (*homes, "/usr/local/cuda") if home]
    return shutil.which("nvcc") or next((str(path) for path in places if os.access(path, os.X_OK)), "")


def nvcc_version(nvcc: str) -> str:
    """The CUDA release of a compiler, for example ``13.0``; empty when it does not answer."""
    try:
        answer = subprocess.run(
            [nvcc, "--version"],
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"release ([\d.]+)", answer.stdout)
    return found[1] if found else ""
