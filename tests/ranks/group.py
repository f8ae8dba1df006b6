"""A group of CPU ranks on gloo for tests of what candidates may import, without the rest of the program."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from tests.program import ROOT, environment

_NAMES = ROOT / "workbench" / "ranks" / "names"
_RUN = """\
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as processes

def rank_main(rank, world):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore("store", world), rank=rank, world_size=world)
    sys.stdout = open(f"said-{rank}", "w")
    body(rank, world)
    sys.stdout.close()
    dist.destroy_process_group()

def body(rank, world):
<body>

if __name__ == "__main__":
    processes.start_processes(rank_main, (int(sys.argv[1]),), nprocs=int(sys.argv[1]), start_method="fork")
"""


def in_group(folder: Path, body: str, world: int = 2, *beside: str, **more: str) -> list[str]:
    """What each rank prints that runs ``body(rank, world)``; AssertionError with stderr where one fails.

    ``utils`` and modules in ``folder`` can be imported. ``beside`` are folders of packages, ``more`` environment
    variables.
    """
    script = folder / "group_main.py"
    script.write_text(_RUN.replace("<body>", textwrap.indent(textwrap.dedent(body), "    ")))
    path = ":".join(map(str, (ROOT, _NAMES, folder, *beside)))
    variables = environment(TMPDIR=str(folder), GLOO_SOCKET_IFNAME="lo", **more) | {"PYTHONPATH": path}
    command = [sys.executable, str(script), str(world)]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    return [(folder / f"said-{rank}").read_text() for rank in range(world)]
