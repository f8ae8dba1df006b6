"""pass@k and fast_p@k over what the session store keeps.

A sample is one conversation; it counts as right when one of its proposals was, and as p times as fast when a right one
was faster than p times the reference. Of n samples of a problem of which c count, the chance that at least one of k
drawn samples counts is 1 - C(n-c, k) / C(n, k): the unbiased estimator of Chen et al. 2021 (arXiv 2107.03374, section
2.1). fast_p is the measure of Ouyang et al. 2025 (KernelBench, arXiv 2502.10517). Over problems the mean is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

from sessions.model import Outcome

CURVE = tuple(step / 4 for step in range(13))
"""The p of the curve: 0, 0.25 ... 3."""


@dataclass(frozen=True)
class Condition:
    """What must be equal for samples to be counted together, beside the problem."""

    model: str
    backend: str
    feedback: str
    place: str
    """Hardware, size, dtype, way of timing and what moves data where that was asked for: ``2 × H200, default, bfloat16,
    custom asked for``."""


@dataclass(frozen=True)
class Sample:
    """One conversation: whether a proposal was right, and the highest speedup of right ones; None = none was timed."""

    problem: str
    right: bool
    speedup: float | None

    def counts(self, p: float) -> bool:
        """Whether it is right and faster than p times the reference; p = 0: right."""
        return self.right and (p <= 0 or (self.speedup is not None and self.speedup > p))


@dataclass(frozen=True)
class Score:
    """The mean over the problems that have at least k samples.

    ``value`` is None where none has, and for p > 0 where samples are right and none of them was timed.
    """

    k: int
    p: float
    value: float | None
    problems: int


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    condition: Condition
    part: str
    """The problem or group that the line is about; empty for all."""
    problems: int
    samples: int
    scores: tuple[Score, ...]
    curve: tuple[Score, ...]
    """fast_p at k = 1 for the p of CURVE."""


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that one of k of n samples counts, of which c do. Needs n >= k >= 1."""
    return 1.0 - comb(n - c, k) / comb(n, k)


def samples_of(outcomes: Iterable[Outcome], steps: int = 0, sure: bool = False) -> dict[Condition, list[Sample]]:
    """Samples by condition; ``steps`` counts the first so many proposals of each only, 0 = all.

    With ``sure`` the lower ends of the speedups' intervals count, not their medians.
    """
    found: dict[tuple[Condition, str, str, int], list[Outcome]] = {}
    manners = _manners(outcomes := list(outcomes))
    for one in outcomes:
        if not steps or one.step <= steps:
            key = (_condition(one, manners.get(one.run, "")), one.problem, one.run, one.sample)
            found.setdefault(key, []).append(one)
    samples: dict[Condition, list[Sample]] = {}
    for (condition, problem, _, _), tried in found.items():
        if all(one.step > 1 for one in tried):
            continue  # its beginning is not kept any more
        samples.setdefault(condition, []).append(_sample(problem, tried, sure))
    return samples


def rows(
    samples: Mapping[Condition, Sequence[Sample]],
    ks: Sequence[int],
    ps: Sequence[float],
    part_of: Callable[[str], str] = lambda problem: "",
) -> list[Row]:
    """A row a condition and part; ``part_of`` gives the part of a problem's stem."""
    found = []
    for condition, all_samples in sorted(samples.items(), key=lambda item: str(item[0])):
        parts: dict[str, list[Sample]] = {}
        for sample in all_samples:
            parts.setdefault(part_of(sample.problem), []).append(sample)
        found += [_row(condition, part, mine, ks, ps) for part, mine in sorted(parts.items())]
    return found


def _row(condition: Condition, part: str, samples: Sequence[Sample], ks: Sequence[int], ps: Sequence[float]) -> Row:
    return Row(
        condition=condition,
        part=part,
        problems=len({sample.problem for sample in samples}),
        samples=len(samples),
        scores=tuple(_score(samples, k, p) for k in ks for p in ps),
        curve=tuple(_score(samples, 1, p) for p in CURVE),
    )


def _score(samples: Sequence[Sample], k: int, p: float) -> Score:
    right = [sample for sample in samples if sample.right]
    if p > 0 and right and all(sample.speedup is None for sample in right):
        return Score(k, p, None, 0)
    problems: dict[str, list[bool]] = {}
    for sample in samples:
        problems.setdefault(sample.problem, []).append(sample.counts(p))
    values = [pass_at_k(len(counts), sum(counts), k) for counts in problems.values() if len(counts) >= k]
    return Score(k, p, sum(values) / len(values) if values else None, len(values))


def _sample(problem: str, tried: Sequence[Outcome], sure: bool) -> Sample:
    right = [one for one in tried if one.status == "ok"]
    speedups = (one.low if sure else one.speedup for one in right)
    timed = [speedup for speedup in speedups if speedup is not None]
    return Sample(problem, bool(right), max(timed, default=None))


def _manners(outcomes: Iterable[Outcome]) -> dict[str, str]:
    """How each run timed: proposals that were not timed do not say."""
    return {one.run: one.manner for one in outcomes if one.manner}


def _condition(one: Outcome, manner: str) -> Condition:
    ranks = one.hardware or f"{one.world} {one.device} rank{'s' if one.world != 1 else ''}"
    required = f"{one.required} asked for" if one.required else ""
    place = ", ".join(filter(None, (ranks, one.size, one.dtype, manner, required)))
    return Condition(one.model, one.backend, one.feedback, place)
