"""Record what NVML says of this machine's GPUs, so that tests can ask it again without them.

    python -m benchmarks.record_nvml > tests/recorded/NAME.json

Processes and the GPUs' own names are left out. Nothing is changed on the machine.
"""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

from workbench.topology.chosen import bus_id
from workbench.topology.gpu_facts import numa_node, pcie_slot
from workbench.topology.gpu_state import read_machine
from workbench.topology.gpus import detect_gpus
from workbench.topology.nvml import active_links, answer, link_counters, nvml_session, text
from workbench.topology.ports import ports
from workbench.topology.throttle import FIELDS, POLICIES

_ASKED = {
    "busy": ("nvmlDeviceGetUtilizationRates", lambda value: int(value.gpu)),
    "power_mw": ("nvmlDeviceGetPowerUsage", int),
    "reasons": ("nvmlDeviceGetCurrentClocksThrottleReasons", int),
    "mode": ("nvmlDeviceGetComputeMode", int),
    "split": ("nvmlDeviceGetMigMode", lambda value: bool(value[0])),
}
"""Figures by the names that tests have for them; a function that does not answer is recorded as refused."""
_P2P = (0, 1, 2)


def main() -> int:
    """Print one JSON object."""
    with nvml_session("nothing was recorded") as nvml:
        record = record_machine(nvml)
    json.dump({**record, "found": found(len(record["gpus"]))}, sys.stdout, indent=1)
    print()
    return 0


def record_machine(nvml: Any) -> dict[str, Any]:
    """What NVML says, in the terms of tests."""
    cards = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(int(nvml.nvmlDeviceGetCount()))]
    pairs = list(itertools.combinations(range(len(cards)), 2))
    status = {(*pair, way): answer(nvml, None, nvml.nvmlDeviceGetP2PStatus, *(cards[i] for i in pair), way)
              for pair in pairs for way in _P2P}  # fmt: skip
    levels = {pair: answer(nvml, None, nvml.nvmlDeviceGetTopologyCommonAncestor, *(cards[i] for i in pair))
              for pair in pairs}  # fmt: skip
    return {
        "driver": text(nvml.nvmlSystemGetDriverVersion()),
        "gpus": [_gpu(nvml, card, at) for at, card in enumerate(cards)],
        "refused": sorted({name for card in cards for name, _ in _ASKED.values() if not _answers(nvml, name, card)}),
        "p2p": [[*key, value] for key, value in status.items() if value is not None],
        "ancestors": [[*pair, level] for pair, level in levels.items() if level is not None],
    }


def found(count: int) -> dict[str, Any]:
    """What pkwb makes of it here and now; a test that asks the record must come to the same."""
    topology, machine = detect_gpus(count), read_machine(count)
    return {
        "graph": topology.graph,
        "groups": [group.name for group in topology.groups],
        "gbps": [port.gbps if port else None for port in ports(topology)],
        "paths": [[*pair, path] for pair, path in machine.paths.items()],
        "counting": [gpu.counters is not None and gpu.counters.counting for gpu in machine.gpus],
        "throttle": [sorted(gpu.throttle.spent_ns) if gpu.throttle else None for gpu in machine.gpus],
    }


def _answers(nvml: Any, name: str, card: Any) -> bool:
    return answer(nvml, None, getattr(nvml, name), card) is not None


def _gpu(nvml: Any, card: Any, at: int) -> dict[str, Any]:
    memory = nvml.nvmlDeviceGetMemoryInfo(card)
    counters = link_counters(nvml, card)
    asked = {field: (answer(nvml, None, getattr(nvml, name), card), read) for field, (name, read) in _ASKED.items()}
    statuses = {
        number: answer(nvml, None, nvml.nvmlDeviceGetViolationStatus, card, number) for number in POLICIES.values()
    }
    fields = {number: _field(nvml, card, number) for numbers in FIELDS.values() for number in numbers}
    return {
        "name": text(nvml.nvmlDeviceGetName(card)),
        "bus": bus_id(nvml, card),
        "uuid": f"GPU-{at}",
        "total": int(memory.total),
        "used": int(memory.used),
        **_links(nvml, card),
        "slot": pcie_slot(nvml, card),
        "numa": numa_node(nvml, card),
        "sent_kib": None if counters is None else counters.sent // 1024,
        "received_kib": 0 if counters is None else counters.received // 1024,
        "clock": answer(nvml, 0, nvml.nvmlDeviceGetClockInfo, card, nvml.NVML_CLOCK_SM),
        "held_fields": {number: value for number, value in fields.items() if value is not None},
        "held_ns": {number: int(status.violationTime) for number, status in statuses.items() if status is not None},
        **{field: read(value) for field, (value, read) in asked.items() if value is not None},
    }


def _field(nvml: Any, card: Any, number: int) -> int | None:
    values = answer(nvml, (), nvml.nvmlDeviceGetFieldValues, card, [number])
    return None if not values or values[0].nvmlReturn else int(values[0].value.ullVal)


def _links(nvml: Any, card: Any) -> dict[str, Any]:
    """States, version and other ends of the links; no ends = switches."""
    up, there = active_links(nvml, card)
    kinds = {answer(nvml, None, nvml.nvmlDeviceGetNvLinkRemoteDeviceType, card, link) for link in up}
    ends = [answer(nvml, None, nvml.nvmlDeviceGetNvLinkRemotePciInfo, card, link) for link in range(there)]
    return {
        "links": [int(link in up) for link in range(there)],
        "version": answer(nvml, 0, nvml.nvmlDeviceGetNvLinkVersion, card, up[0]) if up else 0,
        "peers": [] if 2 in kinds else [text(end.busId).lower() if end is not None else "" for end in ends],
    }


if __name__ == "__main__":
    sys.exit(main())
