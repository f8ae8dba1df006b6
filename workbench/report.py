"""Events as lines of text for people, safe to print whatever a rank wrote.

Verdicts come in JSON form: those of the session store look like fresh ones.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from widgets import format as fmt
from workbench.events import (
    BUILD_WORDS,
    BuildFinished,
    Diagnostic,
    Event,
    Log,
    Notice,
    PhaseChanged,
    ProposalFinished,
    ProposalStarted,
    ProposalWaiting,
    ProposerChanged,
    RanksReady,
    RankStack,
    Ratio,
    SolveFinished,
    SolveStep,
)
from workbench.judge.manner import manner
from workbench.profile_text import slowest_line
from workbench.tables import table

_HEAD = ("rank", "status", "max abs err", "max rel err", "first bad", "ms", "")


def verdict_lines(verdict: dict[str, Any]) -> list[str]:
    """Status, one row a rank, then the figures that were measured."""
    lines = _headline(verdict)
    if verdict["ranks"]:
        rows = [_rank_row(rank) for rank in verdict["ranks"]]
        lines += ["", *table(_HEAD, rows, right=(0, 2, 3, 5)), ""]
    facts = [(name, text(verdict)) for name, text in _FACTS]
    return safe(lines + [f"{name:<10} {text}" for name, text in facts if text])


def safe(lines: list[str]) -> list[str]:
    """Lines without escape sequences, line breaks and control characters."""
    from widgets.plain import plain  # rich loads too slowly for `pkwb eval --help`

    return [plain(line) for line in lines]


def reason_text(reason: str) -> str:
    """A reason as one line for tables; of a traceback the error itself comes first."""
    from widgets.plain import reason_lines

    return " ".join(reason_lines(reason))


def _headline(verdict: dict[str, Any]) -> list[str]:
    """Problem, status and reason in one line; where pkwb itself failed, below it where that was."""
    from widgets.plain import reason_lines

    trials = f"  {verdict['trials_passed']} of {verdict['trials']} trials" if verdict["trials"] else ""
    why = verdict["reason"] if verdict["status"] != "ok" else ""
    first, *rest = reason_lines(why) if verdict["status"] == "infra" and why else [why]
    head = f"{verdict['problem']}  {verdict['status']}{': ' if first else ''}{first}{trials}"
    return [head, *(f"    {line}" for line in rest)]


def _rank_row(rank: dict[str, Any]) -> tuple[str, ...]:
    errors = (_number(rank["max_abs_err"], ".2e"), _number(rank["max_rel_err"], ".2e"))
    return (
        str(rank["rank"]), rank["status"], *errors, rank["first_bad"] or "-", _number(rank["time_ms"], ".3f"),
        rank["detail"],
    )  # fmt: skip


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def speedup_text(speedup: dict[str, Any] | None) -> str:
    """``1.34x [1.31, 1.36]``, with a word where the interval covers 1, or where there is none."""
    if speedup is None:
        return ""
    ratio = Ratio(**speedup)
    doubt = fmt.sureness(ratio)
    return f"{fmt.interval(ratio)} ({doubt})" if doubt else fmt.interval(ratio)


def speedup_line(verdict: dict[str, Any]) -> str:
    """The same of a verdict, with the way of timing where it is not the usual one."""
    text, how = speedup_text(verdict["speedup"]), manner_of(verdict)
    return f"{text}, {how}" if text and how else text


def manner_of(verdict: dict[str, Any]) -> str:
    """How calls were timed where that is out of the ordinary; records of earlier versions do not say."""
    cache, device = verdict.get("cache"), verdict.get("environment", {}).get("device", "")
    if not cache:
        return ""
    return manner(verdict.get("protocol", "pkwb"), verdict.get("graph", False), cache == "cold", device)


def not_timed_text(verdict: dict[str, Any]) -> str:
    """Why a candidate that is right has no times; empty where it has some, or where none were asked for."""
    why = verdict.get("not_timed", "") if verdict["status"] == "ok" else ""
    return f"not timed: {why}" if why else ""


def _time(verdict: dict[str, Any]) -> str:
    sides = [f"{side} {_spread(verdict[f'{side}_ms'])}" for side in ("candidate", "reference") if verdict[f"{side}_ms"]]
    return ", ".join(sides)


def _spread(spread: dict[str, float]) -> str:
    return f"{spread['median']:.3f} ms (p10 {spread['p10']:.3f}, p90 {spread['p90']:.3f})"


def _timed(verdict: dict[str, Any]) -> str:
    from widgets.timed import timed_text

    return timed_text(verdict)


def _bandwidth(verdict: dict[str, Any]) -> str:
    found = verdict["bandwidth"]
    if found is None:
        return ""
    if not found["needed_bytes"]:
        return f"no byte needs to move; the reference moves {found['reference_bytes']:,.0f} bytes"
    nominal = found.get("nominal_gbps")
    most = nominal or found["peak_gbps"]
    shares = [f"{found['nominal_share']:.1%} of nominal"] if nominal else []
    shares += [f"{found['share']:.1%} of {_measured(found)}"] if found["share"] is not None else []
    reached = f"{found['gbps']:.3g}{f' of {most:.3g}' if most else ''} GB/s"
    return f"{', '.join([reached, *shares])}; reference {found['reference_gbps']:.3g} GB/s"


def _measured(found: dict[str, Any]) -> str:
    """The rate that was measured between the ranks; records of earlier versions have no other."""
    rate = f"{found['peak_gbps']:.3g} " if found.get("nominal_gbps") else ""
    return f"{rate}measured ({found['label']})"


def _floor(verdict: dict[str, Any]) -> str:
    from widgets.floors import distances, floor_text

    floor = (verdict["bandwidth"] or {}).get("floor")
    if floor is None:
        return ""
    sides = {side: verdict[f"{side}_ms"]["median"] for side in ("candidate", "reference") if verdict[f"{side}_ms"]}
    return "; ".join(filter(None, [floor_text(floor), distances(floor, sides)]))


def build_text(build: dict[str, Any]) -> str:
    """``my_kernels: quick build, 2.1 s``: which build made an extension, and how long the attempt waited for it."""
    cached = " from the cache" if build["path"] == "cached" else ""
    return f"{build['name']}: {BUILD_WORDS[build['made_by']]}{cached}, {build['seconds']:.1f} s"


def _phases(verdict: dict[str, Any]) -> str:
    return ", ".join(f"{phase} {elapsed:.0f} ms" for phase, elapsed in verdict["phases_ms"].items())


_FACTS = (
    ("speedup", lambda verdict: speedup_line(verdict) or not_timed_text(verdict)),
    ("time", _time),
    ("timed", _timed),
    ("bandwidth", _bandwidth),
    ("floor", _floor),
    ("skew", lambda verdict: "" if verdict["skew"] is None else f"{verdict['skew']:.0%} between ranks"),
    ("profile", lambda verdict: slowest_line(verdict.get("profile"))),
    ("flags", lambda verdict: ", ".join(verdict["flags"])),
    ("builds", lambda verdict: "; ".join(map(build_text, verdict.get("builds", ())))),
    ("phases", _phases),
)


def progress_lines(event: Event) -> list[str]:
    """What is told about an event while an attempt runs; nothing for most."""
    lines = _PROGRESS.get(type(event))
    return safe(lines(event)) if lines else []


def _ranks(event: RanksReady) -> list[str]:
    return [f"{event.world} ranks on {event.device} ready after {event.startup_ms:.0f} ms"]


def _phase(event: PhaseChanged) -> list[str]:
    detail = f": {event.detail}" if event.detail else ""
    return [] if event.state == "started" else [f"{event.phase} {event.state} after {event.elapsed_ms:.0f} ms{detail}"]


def _diagnostic(event: Diagnostic) -> list[str]:
    rank = "" if event.rank is None else f" (rank {event.rank})"
    place = ":".join([event.path, *(str(number) for number in (event.line, event.column) if number)])
    return [f"{place}: {event.severity}: {event.message}{rank}"]


def _built(event: BuildFinished) -> list[str]:
    words = build_text({"name": event.name, "made_by": event.made_by, "path": event.path, "seconds": event.seconds})
    note = f"; no quick build: {event.slim_note}" if event.slim_note else ""
    return [f"{words}{note}" if event.ok else f"{event.name} could not be built: {event.reason}{note}"]


def _stack(event: RankStack) -> list[str]:
    return [f"rank {event.rank} {event.words}", *(f"    {line}" for line in event.stack.splitlines())]


def _log(event: Log) -> list[str]:
    return [f"[rank {event.rank}] {line}" for line in event.text.splitlines()]


def _notice(event: Notice) -> list[str]:
    return [f"pkwb: {event.severity}: {event.text}"]


def _proposer(event: ProposerChanged) -> list[str]:
    if event.state == "loading":
        return ["the process that asks models is loading"]
    detail = f" after {event.elapsed_s:.1f} s" if event.state == "ready" else f": {event.detail}"
    return [f"the process that asks models is {event.state}{detail}"]


def _asked(event: ProposalStarted) -> list[str]:
    return [f"asking {event.model}: {len(event.sent):,} characters are new to it"]


def _waiting(event: ProposalWaiting) -> list[str]:
    return [f"asking again in {event.seconds:.0f} s: {event.reason}"]


def _reply(event: ProposalFinished) -> list[str]:
    cost = f", ${event.cost_usd:.4f}" if event.cost_usd is not None else ""
    tokens = f"{event.tokens_in:,} tokens in, {event.tokens_out:,} out{cost}"
    reason = f": {event.reason}" if event.reason else ""
    return [f"{event.outcome} after {event.seconds:.1f} s, {tokens}{reason}"]


def label_text(event: SolveStep | SolveFinished) -> str:
    """``, hybrid (collectives ran that the source does not show)``; empty where nothing is known to move data."""
    doubt = f" ({event.doubt})" if event.doubt else ""
    return f", {event.label or 'no data movement found'}{doubt}" if event.label or event.doubt else ""


def _step(event: SolveStep) -> list[str]:
    speedup = f" {speedup_text(dataclasses.asdict(event.speedup))}" if event.speedup else ""
    label = label_text(event)
    best = f"; best {event.best.median:.2f}x (proposal {event.best_step})" if event.best else ""
    head = f"sample {event.sample}, proposal {event.step} of {event.steps}: {event.status}{speedup}{label}{best}"
    return [f"{head}; ${event.spent_usd:.2f} spent"]


_PROGRESS: dict[type[Event], Any] = {
    RanksReady: _ranks,
    PhaseChanged: _phase,
    BuildFinished: _built,
    Diagnostic: _diagnostic,
    RankStack: _stack,
    Log: _log,
    Notice: _notice,
    ProposerChanged: _proposer,
    ProposalStarted: _asked,
    ProposalWaiting: _waiting,
    ProposalFinished: _reply,
    SolveStep: _step,
}
