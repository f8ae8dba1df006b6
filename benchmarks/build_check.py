"""Whether quick and full build come to the same: every candidate of ``tests/build/candidates`` judged with both.

All libraries are built first, as many at a time as the machine allows; then each candidate is judged and timed on this
machine's GPUs with either. Equal status and a difference of a call's time within 2 us is what is looked for. Each line
is printed when it is there; after some time no further candidate is judged.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from dataclasses import dataclass

from benchmarks.build import Budget, PatientSitting
from benchmarks.report import Figure, parser, publish, spread
from tests.build.candidates import candidates, problems
from workbench.build.arch import choose_arch
from workbench.build.cache import Cache
from workbench.build.jobs import Slots
from workbench.build.making import Maker, Order
from workbench.build.plan import look
from workbench.build.toolchain import find_toolchain
from workbench.events import Verdict
from workbench.flow.builder import build_cache

WITHIN_US = 2.0
_ROW = "{:24}  {:12}  {:12}  {:>7}  {:>7}  {}"


@dataclass(frozen=True)
class Pair:
    """One candidate's verdicts with the quick build and with the full one."""

    name: str
    quick: Verdict
    full: Verdict

    @property
    def times(self) -> tuple[float | None, float | None]:
        """A call's median time with either, in us."""
        return median_us(self.quick), median_us(self.full)

    @property
    def apart(self) -> list[float]:
        """By how many us a call through the quick build is longer, where both were timed."""
        quick, full = self.times
        return [quick - full] if quick is not None and full is not None else []

    def row(self, failed: str) -> str:
        """One line of the table."""
        told = [f"{us:.1f}" if us is not None else "-" for us in self.times]
        why = self.quick.reason or self.full.reason or failed
        return _ROW.format(self.name, self.quick.status, self.full.status, *told, why[:70]).rstrip()


async def build_all(names: list[str]) -> dict[tuple[str, bool], str]:
    """Build everything both ways into the cache; what failed and why, by name and whether it was the full build."""
    maker = Maker(find_toolchain(), Cache(build_cache(), 10**11), Slots())
    arch = choose_arch("")
    found = {}
    started = time.perf_counter()

    async def build(name: str, full: bool) -> None:
        order = Order(request=look(candidates()[name]).planned[0].request, arch=arch, limit=500.0)
        result = await (maker.full(order) if full else maker.slim(order))
        if not result.ok:
            found[name, full] = result.reason
        way = "full" if full else "quick"
        print(f"{time.perf_counter() - started:6.1f} s  {way} {name} {result.reason}".rstrip(), flush=True)

    first = (names[0], False)
    await build(*first)  # the runtime that all quick builds share comes with it
    others = ((name, full) for full in (True, False) for name in names)
    await asyncio.gather(*(build(*one) for one in others if one != first))
    return found


def judge(name: str, device: str, ranks: int, full: bool) -> Verdict:
    """A candidate's verdict with one of the builds."""
    problem = str(problems()[name])
    sitting = PatientSitting(
        problem, ranks, "bfloat16", limit=60.0, device=device, full=full, trials=3, samples=100
    )  # fmt: skip
    try:
        return sitting.judge(candidates()[name])
    finally:
        sitting.close()


def median_us(verdict: Verdict) -> float | None:
    """A call's median time."""
    return verdict.candidate_ms.median * 1e3 if verdict.candidate_ms else None


def main() -> None:
    """Run it and print one line a candidate."""
    arguments = parser("Quick and full build of every candidate, judged.")
    arguments.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument(
        "--seconds", type=float, default=0.0, help="judge no further candidate after these; 0 = no end"
    )
    arguments.add_argument("names", nargs="*", help="candidates (default: all)")
    chosen = arguments.parse_args()
    names = chosen.names or list(candidates())
    budget = Budget(chosen.seconds)
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PKWB_CACHE_DIR"] = f"{folder}/cache"
        started = time.perf_counter()
        failed = asyncio.run(build_all(names))
        built = time.perf_counter() - started
        print(_ROW.format("candidate", "quick", "full", "us", "us", "").rstrip(), flush=True)
        for name in budget.spend(names):
            pairs.append(Pair(name, *(judge(name, chosen.device, chosen.ranks, full) for full in (False, True))))
            print(pairs[-1].row(failed.get((name, False)) or failed.get((name, True), "")), flush=True)
    apart = [us for pair in pairs for us in pair.apart]
    different = [pair.name for pair in pairs if pair.quick.status != pair.full.status]
    figures = [
        Figure("all libraries, both ways", built, "s", note=f"{2 * len(names)} builds"),
        Figure("candidates judged", len(pairs), "", note=f"of {len(names)}"),
        Figure("candidates whose status differs", len(different), "", 0, ", ".join(different)),
    ]
    figures += spread("a call, quick over full", apart, "us", WITHIN_US) if apart else []
    publish("build_check", figures, chosen.json, failed=[f"{name}: {why}" for (name, _), why in failed.items()])


if __name__ == "__main__":
    main()
