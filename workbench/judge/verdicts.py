"""From what the ranks did to one status: pure functions over what the judges and the zygote reported.

A verdict of ``ok`` needs a compared result of every rank. A rank that failed because another went away first is not
the cause; the cause is the earliest failure of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.events import RankSummary, Status

SEVERITY: tuple[Status, ...] = (
    "infra",
    "build-error",
    "load-error",
    "crash",
    "hang",
    "contract",
    "wrong",
    "suspect",
    "unknown",
    "ok",
)
"""Which status of a rank decides the whole, the first that any rank has."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one rank came to in one phase."""

    rank: int
    report: Mapping[str, Any] | None = None
    """The judge's report: a comparison, a breach of the contract, or the rank's own failure."""
    death: Mapping[str, Any] | None = None
    """The rank's death, unless pkwb itself ended it."""
    death_words: str = ""
    late: bool = False
    """It had not answered when the phase's limit passed."""
    where: str = ""
    """Where it stood then, by its stack."""


def is_primary(answer: Answer) -> bool:
    """Whether this rank failed of its own accord rather than by losing another."""
    if answer.death is not None:
        return True
    failed = answer.report is not None and answer.report["status"] in ("crash", "contract", "load-error", "build-error")
    return failed and not _lost_peer(answer)


def first_cause(answers: Sequence[Answer]) -> Answer | None:
    """The rank whose own failure came first: deaths and exceptions by their time, None when nobody failed."""
    failed = [answer for answer in answers if is_primary(answer)]
    return min(failed, key=_when) if failed else None


def settle(answers: Sequence[Answer]) -> list[RankSummary]:
    """The status of every rank after a phase, in rank order."""
    cause = first_cause(answers)
    return [_rank_status(answer, cause) for answer in answers]


def overall(ranks: Sequence[RankSummary]) -> Status:
    """The status of the whole: the worst of any rank; no ranks at all is unknown."""
    found = {rank.status if rank.status in SEVERITY else "unknown" for rank in ranks}
    return next((status for status in SEVERITY if status in found), "unknown")


def reason(status: Status, ranks: Sequence[RankSummary], first: int | None = None) -> str:
    """One line for people: which ranks, what, where."""
    if status == "ok":
        return ""
    if status == "hang":
        return "; ".join(f"rank {rank.rank}: {_stand(rank)}" for rank in ranks)
    guilty = [rank for rank in ranks if rank.status == status]
    lead = next((rank for rank in guilty if rank.rank == first), guilty[0]) if guilty else None
    if lead is None:
        return ""
    others = [str(rank.rank) for rank in guilty]
    who = f"rank {lead.rank}" if len(others) == 1 else f"ranks {', '.join(others)}"
    if len(others) == len(ranks) > 1:
        who = "all ranks"
    return f"{who}: {_what(lead)}"


def _stand(rank: RankSummary) -> str:
    return rank.detail if rank.status in ("hang", "unknown") else "returned"


def _what(rank: RankSummary) -> str:
    if rank.status == "wrong" and rank.first_bad:
        return rank.detail or rank.first_bad
    return rank.detail or rank.status


def _rank_status(answer: Answer, cause: Answer | None) -> RankSummary:
    if answer.death is not None:
        return RankSummary(rank=answer.rank, status="crash", detail=answer.death_words)
    report = answer.report
    if report is not None and not (_lost_peer(answer) and cause is not None):
        return RankSummary(
            rank=answer.rank,
            status=report["status"],
            max_abs_err=report.get("max_abs"),
            max_rel_err=report.get("max_rel"),
            first_bad=report.get("first_bad", ""),
            detail=report.get("detail", "") or _difference(report),
        )
    if answer.late and cause is None:
        return RankSummary(rank=answer.rank, status="hang", detail=answer.where or "no answer")
    stopped = f"stopped after rank {cause.rank} failed" if cause is not None else "stopped"
    return RankSummary(rank=answer.rank, status="unknown", detail=stopped)


def _difference(report: Mapping[str, Any]) -> str:
    if not report.get("first_bad"):
        return ""
    return f"{report['first_bad']} is {report.get('got')}, expected {report.get('expected')}"


def _lost_peer(answer: Answer) -> bool:
    failure = (answer.report or {}).get("failure")
    return isinstance(failure, Mapping) and bool(failure.get("secondary"))


def _when(answer: Answer) -> int:
    source: Mapping[str, Any] = answer.death if answer.death is not None else answer.report or {}
    at = source.get("at", 0)
    return at if isinstance(at, int) else 0
