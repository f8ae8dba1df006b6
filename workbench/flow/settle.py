"""Wait for all ranks' answers in a phase: until they are there, until one rank failed and the others had a moment, or
until the phase's limit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.flow.sets import CandidateSet, exit_words
from workbench.judge.stacks import Standing, standing
from workbench.judge.verdicts import Answer
from workbench.ranks.channel import Message

GRACE_S = 0.3
"""How long the other ranks may still answer after one failed; what they report then tells cause from consequence."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Limits of a phase in seconds, and what to do when nothing has come for a while."""

    limit: float
    stall: float
    on_stall: Callable[[], Awaitable[None]]
    paused: Callable[[], bool] = lambda: False
    """Whether the ranks wait for something that has a limit of its own; that time does not count."""


async def settle(
    futures: Sequence[asyncio.Future[Message]],
    candidates: CandidateSet,
    patience: Patience,
    failed: Callable[[Message], bool],
    on_answer: Callable[[int, Message], None] = lambda rank, message: None,
) -> bool:
    """Wait as the module says; True when the limit passed with answers missing and no rank at fault.

    ``on_answer`` hears of each rank's answer once, before this returns.
    """
    told: set[int] = set()
    started = time.monotonic()
    deadline, stall_at = started + patience.limit, started + patience.stall
    grace_end: float | None = None
    looked = started
    while pending := _unanswered(futures, told, on_answer):
        now = time.monotonic()
        if patience.paused():
            deadline, stall_at = deadline + now - looked, stall_at + now - looked
        looked = now
        if grace_end is None and (candidates.exits or any(f.done() and _over(f.result(), failed) for f in futures)):
            grace_end = now + GRACE_S
        if grace_end is not None and now >= grace_end:
            return False
        if now >= deadline:
            return True
        if now >= stall_at:
            stall_at = float("inf")
            await patience.on_stall()
            continue
        await _next_change(pending, candidates, min(deadline, stall_at, grace_end or deadline) - now)
    await _deaths_known(futures, candidates)
    return False


def _over(message: Message, failed: Callable[[Message], bool]) -> bool:
    """Whether a rank failed, or its judge could not go on, the reference's rank having died for example."""
    return "error" in message or failed(message)


def _unanswered(
    futures: Sequence[asyncio.Future[Message]], told: set[int], on_answer: Callable[[int, Message], None]
) -> set[asyncio.Future[Message]]:
    """The futures without an answer, after telling of those that got one since the last look."""
    for rank, future in enumerate(futures):
        if future.done() and rank not in told:
            told.add(rank)
            on_answer(rank, future.result())
    return {future for future in futures if not future.done()}


async def _next_change(pending: set[asyncio.Future[Message]], candidates: CandidateSet, timeout: float) -> None:
    candidates.changed.clear()
    change = asyncio.ensure_future(candidates.changed.wait())
    waiting: set[asyncio.Future[Any]] = {*pending, change}
    try:
        await asyncio.wait(waiting, timeout=max(0.0, timeout), return_when=asyncio.FIRST_COMPLETED)
    finally:
        change.cancel()


async def _deaths_known(futures: Sequence[asyncio.Future[Message]], candidates: CandidateSet) -> None:
    """A judge sees its candidate's socket close a moment before the zygote reports the death; wait for that."""
    deadline = time.monotonic() + GRACE_S
    while any(f.result().get("gone") and rank not in candidates.exits for rank, f in enumerate(futures)):
        left = deadline - time.monotonic()
        if left <= 0 or candidates.killed:
            return
        await _next_change(set(), candidates, left)


def answers(
    futures: Sequence[asyncio.Future[Message]],
    candidates: CandidateSet,
    stacks: dict[int, Standing],
    late: bool,
    path: str,
) -> list[Answer]:
    """What each rank came to, for the verdict."""
    found = []
    for rank, future in enumerate(futures):
        message = future.result() if future.done() else {}
        death = candidates.exits.get(rank)
        where = stacks[rank].words if rank in stacks else ""
        found.append(
            Answer(
                rank=rank,
                report=message.get("report"),
                death=death,
                death_words=_death_words(death, path) if death else "",
                late=late and not future.done(),
                where=where,
            )
        )
    return found


def _death_words(death: Message, path: str) -> str:
    spot = standing(death.get("stack", ""), path)
    return f"{exit_words(death)}, in {spot.words}" if spot.line else exit_words(death)
