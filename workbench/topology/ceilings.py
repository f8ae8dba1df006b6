"""What transfer mechanisms were seen to reach of a link's rate, in words."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.topology.model import Topology

MEASURED_HERE = "measured on this machine by 'pkwb bench links'"


def ceiling_notes(topology: Topology) -> Iterator[str]:
    """One sentence for each source: ``Of a link's 450 GB/s: copy engine 392 (87%), register 369 (82%); SOURCE.``"""
    rate = topology.links[0].total_gbps if topology.links else None
    facts = topology.rates.ceilings
    if not rate or not facts:
        return
    for source in dict.fromkeys(fact.source for fact in facts.values()):
        reached = (
            f"{name} {fact.value * rate:.0f} ({fact.value:.0%})"
            for name, fact in facts.items()
            if fact.source == source
        )
        yield f"Of a link's {rate:g} GB/s: {', '.join(reached)}; {source}."
    if not topology.imagined and not any(fact.source == MEASURED_HERE for fact in facts.values()):
        yield "These ceilings are not of this machine: 'pkwb bench links' measures its own."
