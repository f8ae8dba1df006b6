"""Asks the ranks' interpreter what it offers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from workbench.devices import BY_BUS, NO_MULTICAST
from workbench.errors import RanksError

PROBE_SECONDS = 60.0
_PROGRAM = Path(__file__).resolve().parents[1] / "ranks" / "probe.py"
_PLACES = """\
import site, sys
try:
    import torch
except ImportError:
    sys.path.append(site.getusersitepackages())
"""
"""Modules are looked for where ranks find them: not in the current folder, where a kernel may be called ``cuda.py``."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What an interpreter's torch offers. Versions are empty where there is none."""

    torch: str
    cuda: str
    python: str
    numpy: bool
    gloo: bool
    nccl: str
    gpus: int
    multicast: bool | None
    """Whether every GPU could use NVLink multicast; None = not known."""
    peers: list[list[bool]]
    """Whether a kernel on the GPU of a row can use the memory of a column's."""
    copies: list[str]
    """What went wrong with a copy from each GPU to the next, empty where it arrived; no entries for one GPU."""


def ask_ranks(python: str) -> Probe:
    """What ``python`` (empty: this interpreter) offers; takes seconds. RanksError says why there is no answer."""
    python = python or sys.executable
    try:
        done = _run(python)
        return Probe(**json.loads(done.stdout.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        raise RanksError(f"no answer from {python} within {PROBE_SECONDS:.0f} s") from None
    except OSError as error:
        raise RanksError(f"{python}: {error.strerror}") from None
    except (ValueError, IndexError, TypeError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise RanksError(f"{python}: {last}") from None


def _run(python: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-I", "-c", f"{_PLACES}exec({_PROGRAM.read_text(encoding='utf-8')!r})"],
        capture_output=True,
        text=True,
        timeout=PROBE_SECONDS,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **NO_MULTICAST, **BY_BUS},
        check=False,
    )
