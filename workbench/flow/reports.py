"""What ranks and judges reported, as answers for the verdict and events for the stream."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence

from workbench.errors import RanksError
from workbench.events import Diagnostic, RankSummary, RankVerdict
from workbench.judge.verdicts import Answer
from workbench.ranks.channel import Message
from workbench.ranks.failures import read_failure

_MOST_MS = 1e9
_SIDE_WORDS = {"baseline": "reference", "candidate": "candidate"}


def loading_failed(message: Message) -> bool:
    return message.get("event") != "loaded"


def loading_answer(answer: Answer, future: asyncio.Future[Message]) -> Answer:
    """An answer to `run` as a report: loaded, or the failure that the rank described; it wrote the message itself."""
    if answer.death is not None or not future.done():
        return answer
    message = future.result()
    if not loading_failed(message):
        return dataclasses.replace(answer, report={"status": "ok"})
    failure = read_failure(message.get("failure", {"message": "the rank sent a malformed answer"}))
    status = "build-error" if message.get("status") == "build-error" else "load-error"
    return dataclasses.replace(answer, report={"status": status, "detail": error_words(failure), "failure": failure})


def error_words(failure: Message) -> str:
    kind, message, line = failure["type"], failure["message"], failure["line"]
    spot = f", line {line}" if line else ""
    return f"{message}{spot}" if kind == "NoSolution" else f"{kind}: {message}{spot}"


def call_failed(message: Message) -> bool:
    return bool(message.get("gone")) or (message.get("report") or {}).get("status") == "crash"


def not_captured_flags(begun: Sequence[Message]) -> tuple[str, ...]:
    """For each side that some rank could not capture as a graph, the flag with the first rank's reason."""
    why: dict[str, str] = {}
    for answer in begun:
        why = {**answer["plain"], **why}
    if len(set(why.values())) < len(why):
        return (f"not-captured ({why['candidate']})",)
    return tuple(f"not-captured ({_SIDE_WORDS[side]}: {words})" for side, words in why.items())


def raise_infra(futures: Sequence[asyncio.Future[Message]]) -> None:
    """A judge's own error is pkwb's fault, not the kernel's."""
    for rank, future in enumerate(futures):
        error = future.result().get("error") if future.done() else None
        if error:
            raise RanksError(f"judge rank {rank}: {error['type']}: {error['message']}\n{error['text']}")


def failure_of(answer: Answer) -> Message:
    """What :func:`workbench.ranks.failures.read_failure` made of a rank's failure; empty where there is none."""
    return dict((answer.report or {}).get("failure", {}))


def diagnostics(found: Sequence[Answer], path: str) -> list[Diagnostic]:
    """One diagnostic per different failure with a line; ranks that fail alike share one."""
    places: dict[tuple[int, int, str], list[int]] = {}
    for answer in found:
        failure = failure_of(answer)
        if failure and not failure["secondary"]:
            key = (failure["line"], failure["column"], error_words({**failure, "line": 0}))
            places.setdefault(key, []).append(answer.rank)
    return [
        Diagnostic(
            severity="error",
            message=message,
            path=path,
            line=line,
            column=column,
            rank=ranks[0] if len(ranks) == 1 and len(found) > 1 else None,
        )
        for (line, column, message), ranks in places.items()
    ]


def rank_verdict(rank: RankSummary, answer: Answer, index: int, count: int) -> RankVerdict:
    report = answer.report or {}
    return RankVerdict(
        rank=rank.rank,
        trial=index,
        trials=count,
        status=rank.status,
        max_abs_err=rank.max_abs_err,
        max_rel_err=rank.max_rel_err,
        error_ratio=report.get("ratio"),
        first_bad=rank.first_bad,
        expected=report.get("expected", ""),
        got=report.get("got", ""),
        near=report.get("near", ""),
        call_ms=call_ms(answer),
        detail=rank.detail,
    )


def worst(before: Sequence[RankSummary], now: Sequence[RankSummary]) -> tuple[RankSummary, ...]:
    """Each rank's summary over the trials so far: the largest errors, the latest status."""
    if not before:
        return tuple(now)
    return tuple(
        dataclasses.replace(
            new,
            max_abs_err=_larger(old.max_abs_err, new.max_abs_err),
            max_rel_err=_larger(old.max_rel_err, new.max_rel_err),
        )
        for old, new in zip(before, now)
    )


def _larger(one: float | None, other: float | None) -> float | None:
    known = [value for value in (one, other) if value is not None]
    return max(known) if known else None


def call_ms(answer: Answer) -> float | None:
    ns = (answer.report or {}).get("ns")
    return ns / 1e6 if isinstance(ns, int) else None


def as_ms(value: object) -> float:
    """A time that a rank itself claims; 0 where it is no number, or no time that can be."""
    return float(value) if isinstance(value, (int, float)) and 0 <= value < _MOST_MS else 0.0


def samples_ms(rows: Sequence[Sequence[int]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(ns / 1e6 for ns in row) for row in rows)
