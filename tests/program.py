"""Starting the real program in tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RANKS_PYTHON = os.environ.get("PKWB_RANKS_PYTHON") or sys.executable
"""The interpreter with torch, as ``make test RANKS_PYTHON=...`` names it."""


def environment(**more: str) -> dict[str, str]:
    """This process's environment, with the checkout importable from any folder."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def pkwb(*arguments: str, cwd: Path, timeout: float = 100, **more: str) -> subprocess.CompletedProcess[str]:
    """Run ``pkwb`` to its end, without a terminal; ``more`` are environment variables."""
    command = [sys.executable, "-m", "workbench.cli", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment(**more), timeout=timeout, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def script(text: str, *arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """Start Python code that may import pkwb, with its stdout in a pipe."""
    command = [sys.executable, "-c", text, *arguments]
    return subprocess.Popen(command, cwd=cwd, env=environment(), stdout=subprocess.PIPE, text=True)
