"""The prompt of a problem, from the workbench's own facts: statement, shapes, reference, machine, bytes, roofline."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from problems.model import Input
from problems.starter import starter_text
from problems.wording import EFFECTS, argument, by_rank, comparisons, figure_by_rank, result, signature
from workbench.config import RunSettings, Settings
from workbench.errors import UsageError
from workbench.judge.manner import begins_cold
from workbench.llm.client import Messages
from workbench.llm.devices import processors_of
from workbench.llm.labels import requirement_text
from workbench.llm.private import unnamed
from workbench.llm.templates import Templates
from workbench.rooflines import Rows, find_roofline, roofline_rows
from workbench.target import Target
from workbench.topology.cost import Roofline
from workbench.topology.detect import detect
from workbench.topology.model import Device, Link, Topology
from workbench.topology.terms import RATES

_FIGURES = {
    "needed_bytes": "bytes that a rank must send or receive",
    "reference_bytes": "bytes that the reference's collectives move a rank",
    "hbm_bytes": "bytes of memory that a rank reads and writes at least",
    "flops": "operations a rank",
}


def conversation_start(target: Target, settings: Settings) -> Messages:
    """The first messages of a conversation: what holds for every problem, then the problem.

    Raises UsageError for templates that cannot be rendered, ProblemError and TopologyError as their parts do.
    """
    facts = prompt_facts(target, settings)
    templates = Templates(settings.llm.templates)
    rendered = {"system": templates.render("system.md", facts), "user": templates.render("task.md", facts)}
    return [{"role": role, "content": text} for role, text in rendered.items()]


def prompt_facts(target: Target, settings: Settings) -> dict[str, Any]:
    """What the templates ``system.md`` and ``task.md`` can say, by name."""
    binding, problem = target.binding, target.problem
    found = find_roofline(binding, settings)
    if isinstance(found, Roofline):
        found = dataclasses.replace(found, in_network_s=None)  # multicast is not to be used
    return {
        "target": target,
        "signature": signature(problem),
        "arguments": [(item.name, _argument(target, item)) for item in problem.inputs],
        "results": [(item.name, result(binding, item)) for item in problem.outputs],
        "comparisons": comparisons(binding),
        "reference": problem.reference_source().strip(),
        "machine": [unnamed(line) for line in _machine(target)],
        "figures": _figures(target),
        "roofline": roofline_rows(found, None),
        "timing": f"Calls are not timed here: {target.not_timed}."
        if target.not_timed
        else _timing(target.device, settings.run),
        "limit": f"{settings.limits.run:g}",
        "requirement": requirement_text(settings.llm.require),
        "example": starter_text(problem, target.backend).strip(),
    }


def _timing(device: str, run: RunSettings) -> str:
    """What counts in a call's time."""
    if run.protocol == "pkb":
        return (
            "Calls are timed in series of 100 after 500 that do not count, one right behind the other; launches count."
        )
    caches = "full of other data" if begins_cold(run.cache, device) else "as the call before left them"
    if device == "cpu":
        return f"All ranks begin a call together, with caches {caches}; it is timed by the monotonic clock."
    if run.graph:
        return f"What is timed are replays of the call as a CUDA graph, with caches {caches}."
    return (
        f"A call is timed by device events, with caches {caches}. All that it launches is queued before a rank begins, "
        "so that launches cost nothing, unless the call waits for its device inside."
    )


def _argument(target: Target, item: Input) -> str:
    facts = (argument(target.binding, item), EFFECTS[item.mutates], item.note)
    return "; ".join(filter(None, facts))


def _figures(target: Target) -> Rows:
    if not target.problem.figures.known:
        return []
    return [
        (words, by_rank([f"{value:,.0f}" for value in figure_by_rank(target.binding, name)]))
        for name, words in _FIGURES.items()
    ]


def _machine(target: Target) -> Iterator[str]:
    """Ranks and devices, links, rates, and what is to be known about them."""
    try:
        topology = target.what_if or detect(target.world, target.device)
    except UsageError as error:
        yield f"{target.place}; their links cannot be seen: {error}"
        return
    what_if = " (the figures below are of this system, whatever the ranks run on)" if topology.imagined else ""
    yield f"{topology.name}{what_if}"
    yield from dict.fromkeys(_device(device) for device in topology.devices if device.rank is not None)
    yield from _links(topology)
    yield from _rates(topology, target.binding.dtype)
    yield from topology.notes


def _device(device: Device) -> str:
    found = processors_of(device.model) if device.kind == "gpu" else None
    cores = f"{device.cores} core{'s' if device.cores != 1 else ''}" if device.cores else ""
    parts = (
        device.model,
        cores,
        f"{device.memory_bytes / 1e9:.0f} GB of memory" if device.memory_bytes else "",
        f"{found.count} multiprocessors" if found else "",
        f"{found.shared_kb} KiB of shared memory a block" if found else "",
        f"compute capability {found.capability}" if found else "",
    )
    return f"each rank: {', '.join(filter(None, parts))}"


def _links(topology: Topology) -> Iterator[str]:
    """One line for the links that are alike."""
    alike: dict[tuple[str, str], list[Link]] = {}
    groups = {group.name for group in topology.groups}
    for link in topology.links:
        alike.setdefault((link.label, link.b if link.b in groups else ""), []).append(link)
    for (label, hub), links in alike.items():
        ends = ", ".join(link.a if hub else f"{link.a} to {link.b}" for link in links)
        yield f"link: {label}: {ends}{f', each to {hub}' if hub else ''}"


def _rates(topology: Topology, dtype: str) -> Iterator[str]:
    rates = topology.rates
    if rates.hbm_gbps:
        yield f"memory: {rates.hbm_gbps.value:,.0f} GB/s a device"
    name = next((name for name in RATES.get(dtype, (dtype,)) if name in rates.tflops), None)
    if name:
        yield f"compute: {rates.tflops[name].value:,.0f} TFLOP/s a device, dense {name}"
    if rates.alpha_us:
        yield f"one step from device to device: about {rates.alpha_us.value:g} us"
