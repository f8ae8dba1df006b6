"""Whether quick and full build come to the same: every candidate of ``tests/build/candidates`` judged with both.

All libraries are built first, as many at a time as the machine allows; then each candidate is judged and timed on this
machine's GPUs with either. Equal status and a difference of a call's time within 2 us is what is looked for.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time

from benchmarks.report import Figure, parser, publish, spread
from tests.build.candidates import candidates, problems
from tests.flow.sitting import Sitting
from workbench.build.arch import choose_arch
from workbench.build.cache import Cache
from workbench.build.jobs import Slots
from workbench.build.making import Maker, Order
from workbench.build.plan import look
from workbench.build.toolchain import find_toolchain
from workbench.events import Verdict
from workbench.flow.builder import build_cache
from workbench.tables import table

WITHIN_US = 2.0


class PatientSitting(Sitting):
    """A sitting that waits for full builds."""

    patience = 500.0


async def build_all(names: list[str]) -> dict[tuple[str, bool], str]:
    """Build everything both ways into the cache; what failed and why, by name and whether it was the full build."""
    maker = Maker(find_toolchain(), Cache(build_cache(), 10**11), Slots())
    arch = choose_arch("")
    found = {}

    async def build(name: str, full: bool) -> None:
        order = Order(request=look(candidates()[name]).planned[0].request, arch=arch, limit=500.0)
        result = await (maker.full(order) if full else maker.slim(order))
        if not result.ok:
            found[name, full] = result.reason

    await build(names[0], False)  # the runtime that all quick builds share comes with the first
    await asyncio.gather(*(build(name, full) for name in names for full in (False, True)))
    return found


def judge_all(names: list[str], device: str, ranks: int, full: bool) -> dict[str, Verdict]:
    """Each candidate's verdict with one of the builds."""
    found = {}
    for name in names:
        sitting = PatientSitting(
            str(problems()[name]), ranks, "bfloat16", limit=60.0, device=device, full=full, trials=3, samples=100
        )
        found[name] = sitting.judge(candidates()[name])
        sitting.close()
    return found


def median_us(verdict: Verdict) -> float | None:
    """A call's median time."""
    return verdict.candidate_ms.median * 1e3 if verdict.candidate_ms else None


def main() -> None:
    """Run it and print one line a candidate."""
    arguments = parser("Quick and full build of every candidate, judged.")
    arguments.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("names", nargs="*", help="candidates (default: all)")
    chosen = arguments.parse_args()
    names = chosen.names or list(candidates())
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PKWB_CACHE_DIR"] = f"{folder}/cache"
        started = time.perf_counter()
        failed = asyncio.run(build_all(names))
        built = time.perf_counter() - started
        quick, full = (judge_all(names, chosen.device, chosen.ranks, way) for way in (False, True))
    rows, apart = [], []
    for name in names:
        times = (median_us(quick[name]), median_us(full[name]))
        apart += [times[0] - times[1]] if times[0] is not None and times[1] is not None else []
        told = [f"{us:.1f}" if us is not None else "-" for us in times]
        why = quick[name].reason or full[name].reason or failed.get((name, False)) or failed.get((name, True), "")
        rows.append((name, quick[name].status, full[name].status, *told, why[:70]))
    print("\n".join(table(("candidate", "quick", "full", "us", "us", ""), rows, (3, 4))))
    different = [name for name in names if quick[name].status != full[name].status]
    figures = [
        Figure("all libraries, both ways", built, "s", note=f"{2 * len(names)} builds"),
        Figure("candidates whose status differs", len(different), "", 0, ", ".join(different)),
    ]
    figures += spread("a call, quick over full", apart, "us", WITHIN_US) if apart else []
    publish("build_check", figures, chosen.json, failed=[f"{name}: {why}" for (name, _), why in failed.items()])


if __name__ == "__main__":
    main()
