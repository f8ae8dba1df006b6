"""What doctor and telemetry say on a machine with GPUs, while data is copied between them.

    python -m benchmarks.doctor_check --ranks 2 [--python INTERPRETER]

Prints the doctor's findings, then one line a look at the GPUs, at rest and under load, and a short table last. Exit
code 1 when a figure is missing or does not follow the load. Takes about a minute; changes no setting of a GPU.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from workbench.devices import NO_MULTICAST
from workbench.doctor import examine
from workbench.events import GpuLoad
from workbench.flow.gpu_loads import GpuLoads
from workbench.flow.gpu_watch import GpuWatch
from workbench.tables import table
from workbench.topology.gpu_state import read_machine

LOOKS = 4
_TRAFFIC = """
import os, sys, time, torch
if len(sys.argv) > 3 and os.fork():
    os._exit(0)
world = int(sys.argv[1])
held = [torch.empty(3 << 30, dtype=torch.uint8, device=f"cuda:{gpu}") for gpu in range(world)]
sent = [torch.ones(64 << 20, device=f"cuda:{gpu}") for gpu in range(world)]
arrived = [torch.empty_like(sent[(gpu + 1) % world], device=f"cuda:{gpu}") for gpu in range(world)]
print("ready", flush=True)
ends = time.monotonic() + float(sys.argv[2])
while time.monotonic() < ends:
    for gpu in range(world):
        arrived[gpu].copy_(sent[(gpu + 1) % world], non_blocking=True)
        sent[gpu].mul_(1.0)
    for gpu in range(world):
        torch.cuda.synchronize(gpu)
"""
"""Copies 256 MiB around the ring of GPUs, and runs a kernel on each, until its time is up; holds 3 GiB of each. With a
third argument it is nobody's child, as another user's process would be."""


def main() -> int:
    """Look at rest, look under load, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    os.environ.update(PKWB_RANKS_PYTHON=options.python, PKWB_RANKS_WORLD=str(options.ranks))
    findings = examine(Path.cwd())
    print("\n".join(table(("state", "what", "found"), [(one.state, one.name, one.value) for one in findings])))
    loads = GpuLoads(options.ranks)
    rest = _look(loads, "at rest")
    with _traffic(options.python, options.ranks) as traffic:
        busy = _look(loads, "under load")
        ours, visible = asyncio.run(_flags(options.ranks)), _visible(traffic, options.ranks)
    with _traffic(options.python, options.ranks, "orphan") as orphan:
        strangers = asyncio.run(_flags(options.ranks))
        orphan.communicate()
    loads.close()
    moving = any(one.name == "nvlink counters" and one.state == "ok" for one in findings)
    rows = [*_rows(options.ranks, rest, busy, moving), *_watched(ours, strangers, visible)]
    print("\n".join(table(("check", "result", "detail"), rows)))
    return int(traffic.returncode != 0 or any(row[1] == "FAILED" for row in rows))


async def _flags(world: int) -> tuple[str, ...]:
    """What a timing of a second would be flagged with."""
    watch = GpuWatch(world)
    flags = await watch.before()
    await asyncio.sleep(1)
    flags = (*flags, *await watch.after())
    watch.close()
    print(f"flags: {flags}")
    return flags


def _visible(process: subprocess.Popen[str], world: int) -> bool:
    """Whether the driver's numbers of processes are those of here; in a container they may be the host's."""
    return any(who.pid == process.pid for gpu in read_machine(world).gpus for who in gpu.holders)


def _watched(ours: tuple[str, ...], strangers: tuple[str, ...], visible: bool) -> list[tuple[str, str, str]]:
    """Processes that this one started are no strangers; others are, where the driver's numbers are those of here."""
    shared = [flag for flag in strangers if flag.startswith("shared-gpu")]
    return [
        _row("own processes are not flagged", not any(flag.startswith("shared-gpu") for flag in ours), str(ours)),
        _row("others are flagged", bool(shared) or not visible, str(shared) if visible else "not visible from here"),
    ]


def _traffic(python: str, world: int, *orphan: str) -> subprocess.Popen[str]:
    command = [python, "-c", _TRAFFIC, str(world), str(LOOKS + 2), *orphan]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **NO_MULTICAST})
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _look(loads: GpuLoads, when: str) -> list[tuple[GpuLoad, ...]]:
    looks = []
    for _ in range(LOOKS):
        started = time.perf_counter()
        looks.append(loads.look())
        print(f"{when}, {1e3 * (time.perf_counter() - started):.1f} ms: {looks[-1]}")
        time.sleep(1)
    return looks


def _rows(
    world: int, rest: Sequence[tuple[GpuLoad, ...]], busy: Sequence[tuple[GpuLoad, ...]], moving: bool
) -> list[tuple[str, str, str]]:
    last_rest, last_busy = rest[-1], busy[-1]
    used = [after.memory_used_bytes - before.memory_used_bytes for before, after in zip(last_rest, last_busy)]
    rates = [(one.sent_gbps, one.received_gbps) for one in last_busy]
    seen = all(None not in pair and min(filter(None, pair), default=0) > 1 for pair in rates)
    return [
        _row("a figure for every rank", all(len(look) == world for look in (*rest, *busy)), f"{len(last_busy)} GPUs"),
        _row(
            "busy under load", all((one.busy_percent or 0) > 0 for one in last_busy), _each(last_busy, "busy_percent")
        ),
        _row(
            "memory under load",
            all(more > 500e6 for more in used),
            f"{[round(more / 1e9, 1) for more in used]} GB more",
        ),
        _row(
            "power and clock",
            all(one.power_watts and one.clock_mhz for one in last_busy),
            _each(last_busy, "power_watts"),
        ),
        _row("link rate only where counters move", seen == moving, f"{rates}, counters move: {moving}"),
    ]


def _row(name: str, good: bool, detail: str) -> tuple[str, str, str]:
    return name, "ok" if good else "FAILED", detail


def _each(loads: Sequence[GpuLoad], field: str) -> str:
    return ", ".join(str(getattr(one, field)) for one in loads)


if __name__ == "__main__":
    sys.exit(main())
