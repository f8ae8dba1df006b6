"""Machines as their NVML was recorded: asked again, they are what they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from benchmarks.record_nvml import found, record_machine
from tests import machines
from tests.nvml import FakeNvml, put_in_place, recorded

FOLDER = Path(__file__).parents[1] / "recorded"
"""One file a machine that the script was run on."""
MACHINES: dict[str, Callable[[], FakeNvml]] = {
    "8 H200": lambda: machines.hopper(8),
    "2 H200, virtual": lambda: machines.virtual(2),
    "4 A100, mesh": machines.mesh,
    "4 H100 NVL, bridged": machines.bridged,
    "two sockets": machines.two_sockets,
    "desktop": machines.desktop,
    "MIG": machines.split,
    "no permission": machines.guarded,
}


MACHINES |= {path.stem: partial(recorded, json.loads(path.read_text())) for path in sorted(FOLDER.glob("*.json"))}


@pytest.mark.parametrize("name", MACHINES)
def test_a_record_is_the_machine(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Topology, paths, counters and throttling of a record are those of the machine, wherever it was recorded."""
    nvml = put_in_place(monkeypatch, MACHINES[name]())
    kept = FOLDER / f"{name}.json"
    there = json.loads(kept.read_text())["found"] if kept.exists() else found(len(nvml.gpus))
    put_in_place(monkeypatch, recorded(json.loads(json.dumps(record_machine(nvml)))))

    assert json.loads(json.dumps(found(len(nvml.gpus)))) == json.loads(json.dumps(there))
