"""Measure this machine's links as `pkwb bench links` does, keep the figures, print the ceilings as one short table.

    python benchmarks/links_check.py --device cuda --ranks 2 --json

Exit code 1 when data arrived damaged, when a mechanism is left out, or when GPU memory is not back where it was.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.report import Figure, parser, publish
from workbench.devices import choose_device
from workbench.flow.links import measure_links
from workbench.judge.links import LinkReport, ceilings, store_ceilings
from workbench.links_text import links_text, size_text
from workbench.settings import load_settings

_SLACK_MB = 64
"""Megabytes by which a GPU's used memory may differ afterwards."""


def _arguments() -> argparse.Namespace:
    found = parser("Bandwidth between ranks by transfer mechanism, message size and block count.")
    found.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    found.add_argument("--ranks", type=int, default=2)
    found.add_argument("--largest", type=int, default=0, help="bytes of the largest message")
    return found.parse_args()


def _used_mb(device: str) -> list[int]:
    """Used memory of each GPU, by nvidia-smi; nothing on CPUs."""
    if device != "cuda":
        return []
    ask = ("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits")
    return [int(line) for line in subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()]


def _figures(report: LinkReport) -> list[Figure]:
    return [
        Figure(
            f"{rate.mechanism}, {'both ways' if rate.two_way else 'one way'}",
            rate.gbps,
            "GB/s",
            note=f"{size_text(rate.bytes)}, {rate.us:.0f} us" + (f", {rate.blocks} blocks" if rate.blocks else ""),
        )
        for rate in ceilings(report.rates)
    ]


def main() -> int:
    """Run it and print the figures."""
    arguments = _arguments()
    settings = load_settings({"ranks.world": arguments.ranks, "ranks.device": arguments.device})
    device = choose_device(settings.ranks.device, settings.ranks.world, settings.ranks.python)
    before = _used_mb(device)
    report = asyncio.run(measure_links(settings, device, arguments.largest, lambda text: print(f"measuring {text}")))
    after = _used_mb(device)
    if ceilings(report.rates):
        store_ceilings(report)
    print("\n".join([*links_text(report), ""]))
    more = {"device": device, "world": report.world, "rates": [dataclasses.asdict(rate) for rate in report.rates]}
    publish(f"links_{device}", _figures(report), arguments.json, ranks_torch=report.torch, **more)
    back = all(now - then <= _SLACK_MB for then, now in zip(before, after))
    print(f"data right: {report.verified}   left out: {len(report.left_out)}   memory back: {back} {before} {after}")
    return 0 if report.verified and not report.left_out and back else 1


if __name__ == "__main__":
    sys.exit(main())
