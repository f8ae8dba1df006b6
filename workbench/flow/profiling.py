"""One call of a candidate under the profiler of its ranks, after everything that counts."""

from __future__ import annotations

import asyncio
import dataclasses

from workbench.events import Profile
from workbench.flow.context import Context
from workbench.flow.sets import CandidateSet
from workbench.flow.settle import Patience, settle
from workbench.judge.profiles import make_profile
from workbench.ranks.channel import Message

LIMIT_S = 30.0
"""Longest wait for all ranks; a large problem's calls take a few seconds, starting a GPU's profiler about one."""
_CALL = 1 << 30
"""The number of a call that no timing reaches, so that its values are new."""


def for_model(context: Context) -> Context:
    """For a proposal of a model: with a profile where it is told of it, or where a way to move data is asked for."""
    settings = context.settings
    if settings.llm.feedback != "full" and not settings.llm.require:
        return context
    run = dataclasses.replace(settings.run, profile=True)
    return dataclasses.replace(context, settings=dataclasses.replace(settings, run=run))


async def profile(context: Context, candidates: CandidateSet) -> Profile:
    """Where a call's time goes on each rank; what goes wrong is told in its ``note`` and changes no verdict."""
    futures = context.judges.ask([{"op": "profile", "call": _CALL}] * context.target.world)
    patience = Patience(limit=min(LIMIT_S, context.settings.limits.run), stall=float("inf"), on_stall=_nothing)
    late = await settle(futures, candidates, patience, _failed)
    words = [_trouble(rank, future) for rank, future in enumerate(futures)]
    if found := next(filter(None, words), ""):
        return Profile(note="the profiled call did not end" if late else found)
    return await asyncio.to_thread(
        make_profile, [future.result()["spans"] for future in futures], context.target.device
    )


def _failed(message: Message) -> bool:
    return "spans" not in message


def _trouble(rank: int, future: asyncio.Future[Message]) -> str:
    message = future.result() if future.done() else {}
    if "spans" in message:
        return ""
    detail = (message.get("report") or {}).get("detail") or (message.get("error") or {}).get("message") or "it is gone"
    return f"the profiled call failed on rank {rank}: {detail}"


async def _nothing() -> None:
    """Stacks are taken where a call counts."""
