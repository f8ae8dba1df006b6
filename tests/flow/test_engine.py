"""The engine on real CPU ranks: every kind of bad candidate gets its status, and nothing outlives it."""

from __future__ import annotations

import os
import signal

import pytest

from tests.flow.candidates import BAD, GOOD, with_end, with_middle, without
from tests.flow.sitting import Sitting, alive
from workbench.errors import RanksError
from workbench.events import (
    Diagnostic,
    FirstVerdict,
    Log,
    Notice,
    PhaseChanged,
    RankStack,
    RankVerdict,
    SourceSeen,
    TimingProgress,
    Verdict,
)
from workbench.flow.gpu_watch import GpuWatch
from workbench.flow.leftovers import end_leftovers
from workbench.flow.sets import JudgeSet
from workbench.ranks.channel import Message

NEVER = BAD["never returns"][0]


def test_a_good_candidate_is_ok_on_every_rank(sitting: Sitting) -> None:
    """The verdict of a right kernel is ok, with every rank compared in every trial."""
    verdict = sitting.judge(GOOD)

    assert (verdict.status, verdict.reason, verdict.trials_passed) == ("ok", "", 3)
    assert [rank.status for rank in verdict.ranks] == ["ok", "ok"]
    shown = sitting.of(RankVerdict, verdict.attempt)
    assert sorted((event.rank, event.trial) for event in shown) == [
        (rank, trial) for rank in (0, 1) for trial in range(3)
    ]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_candidate_gets_its_status(sitting: Sitting, name: str) -> None:
    """Each way to fail has its own status and a reason that says which rank and what."""
    text, status, words = BAD[name]
    verdict = sitting.judge(text)

    assert (verdict.status, verdict.reason) == (status, verdict.reason)
    assert words in verdict.reason
    assert verdict.speedup is None
    assert sitting.of(FirstVerdict, verdict.attempt)[0].status == status


def test_the_next_attempt_works_after_every_failure(sitting: Sitting) -> None:
    """After a crash and a hang the next save is judged as if nothing had been."""
    for name in ("killed", "deadlock"):
        sitting.judge(BAD[name][0])
        assert sitting.judge(GOOD).status == "ok"


def test_an_error_is_shown_at_its_line(sitting: Sitting) -> None:
    """A Python error in the candidate comes with the line in the user's file, and its traceback in the log."""
    verdict = sitting.judge(with_middle("1 / 0"))
    found = sitting.of(Diagnostic, verdict.attempt)

    assert [(d.severity, d.line, d.rank) for d in found] == [("error", 8, None)]
    assert "ZeroDivisionError" in found[0].message
    logs = "".join(event.text for event in sitting.of(Log, verdict.attempt) if event.rank == 0)
    assert 'candidate.py", line 8, in solution' in logs
    assert "workbench" not in logs


def test_a_syntax_error_has_line_and_column(sitting: Sitting) -> None:
    """A syntax error is a build error with line and column."""
    verdict = sitting.judge(without("x = = 1\n"))
    found = sitting.of(Diagnostic, verdict.attempt)

    assert [(d.line, d.column) for d in found] == [(4, 5)]


def test_a_hang_shows_where_each_rank_stands(sitting: Sitting) -> None:
    """A rank that never returns is shown with its stack, before the limit and at the limit."""
    verdict = sitting.judge(BAD["never returns"][0])
    stacks = sitting.of(RankStack, verdict.attempt)

    assert {(event.rank, event.where) for event in stacks} == {
        (0, "all_reduce, candidate.py:10"),
        (1, "solution, candidate.py:9"),
    }
    assert len(stacks) == 4
    assert "candidate.py" in stacks[0].stack


def test_a_crash_names_its_cause_and_not_its_victims(sitting: Sitting) -> None:
    """When rank 1 dies, rank 0 is not blamed for losing it."""
    verdict = sitting.judge(BAD["exits with 0"][0])

    assert [rank.status for rank in verdict.ranks] == ["unknown", "crash"]
    assert verdict.ranks[0].detail == "stopped after rank 1 failed"


def test_the_verdict_comes_after_the_output(sitting: Sitting) -> None:
    """Whatever a kernel printed in its judged calls is in the log before the verdict is told."""
    for _ in range(5):
        verdict = sitting.judge("print('loading')\n" + with_end("print('called')\nreturn out"))
        before = sitting.events[: sitting.events.index(verdict)]
        logs = [event for event in before if isinstance(event, Log) and event.attempt == verdict.attempt]

        for rank in range(2):
            assert "".join(event.text for event in logs if event.rank == rank).count("called") == verdict.trials


def test_a_gigabyte_of_output_is_capped() -> None:
    """Printing 1 GB costs neither the verdict nor the memory: 1 MiB a stream is kept and the rest counted."""
    text = with_middle(
        "line = 'y' * 1023 + '\\n'\nfor _ in range(1000 if rank == 0 else 0):\n    sys.stdout.write(line * 1000)"
    )
    sitting = Sitting("1", limit=60, trials=1)
    verdict = sitting.judge(text)
    logs = [event.text for event in sitting.of(Log, verdict.attempt)]
    sitting.close()

    assert verdict.status == "ok"
    assert (1 << 20) - 10_000 <= sum(map(len, logs)) < (1 << 20) + 10_000
    assert any("from here on is dropped" in text for text in logs)


def test_a_rank_cannot_leave_processes_behind(sitting: Sitting) -> None:
    """A process that a candidate forked away from its session is ended with it."""
    leave = "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(1000)\n    os._exit(0)"
    before = set(sitting.pids())
    verdict = sitting.judge(with_middle(leave))
    sitting.judge(GOOD)

    assert verdict.status == "ok"
    sitting.until(lambda: len(sitting.pids()) <= len(before))


def test_the_environment_of_a_rank_holds_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank sees an allow-list of variables, an empty home and its own scratch folder, no key of the user's."""
    for name in ("OPENAI_API_KEY", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "secret")
    sitting = Sitting("1", trials=1)
    verdict = sitting.judge(
        with_end("print(sorted(os.environ), os.environ['HOME'], os.getcwd(), os.listdir('.'))\nreturn out")
    )
    logs = "".join(event.text for event in sitting.of(Log, verdict.attempt) if event.rank == 0)
    sitting.close()

    assert not any(part in logs for part in ("PKWB", "API_KEY", "SSH"))
    assert "/rank-0 " in logs
    assert os.path.expanduser("~") not in logs.split("'PATH'")[0]


def test_a_save_during_a_run_supersedes_it(sitting: Sitting) -> None:
    """A newer source ends the older one's run at once, and both get a verdict."""
    first = sitting.submit(NEVER)
    sitting.until(lambda: any(e.phase == "check" for e in sitting.of(PhaseChanged, first)))
    second = sitting.judge(GOOD)

    assert [event.status for event in sitting.of(Verdict, first)] == ["superseded"]
    assert (second.attempt, second.status) == (first + 1, "ok")


def test_saves_in_quick_succession_all_get_a_verdict(sitting: Sitting) -> None:
    """Of several saves at once only the last is judged; the others are told to be superseded, none is lost."""
    numbers = [sitting.submit(NEVER) for _ in range(4)]
    last = sitting.judge(GOOD)

    assert last.status == "ok"
    assert [[event.status for event in sitting.of(Verdict, number)] for number in numbers] == [["superseded"]] * 4
    assert all(sitting.of(SourceSeen, number) for number in numbers)


def test_a_run_can_be_cancelled(sitting: Sitting) -> None:
    """Cancel ends a run and leaves no rank of it alive; the phase that ran was stopped and has not failed."""
    number = sitting.submit(NEVER)
    sitting.until(lambda: any(e.phase == "check" for e in sitting.of(PhaseChanged, number)))
    sitting.cancel()

    assert sitting.verdict().status == "cancelled"
    assert [e.state for e in sitting.of(PhaseChanged, number) if e.phase == "check"] == ["started", "stopped"]
    assert not sitting.engine.busy


def test_ranks_are_started_anew_when_something_killed_them(sitting: Sitting) -> None:
    """The death of the zygote or of a judge costs a notice, not the session."""
    for place in (0, 1):
        victim, before = sitting.pids()[place], len(sitting.events)
        os.kill(victim, signal.SIGKILL)
        sitting.until(lambda victim=victim: not alive(victim))
        assert sitting.judge(GOOD).status == "ok"
        told = [event.text for event in sitting.events[before:] if isinstance(event, Notice)]
        assert len(told) == 1
        assert "started anew" in told[0]


def test_a_candidate_that_ends_the_ranks_parent_ends_nothing_else(sitting: Sitting) -> None:
    """A candidate that kills the process its rank came from gets no score, and what it left behind is ended."""
    leave = "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(1000)\n    os._exit(0)"
    home = sitting.engine._zygote._directory
    verdict = sitting.judge(with_middle(f"{leave}\ntime.sleep(0.3)\nos.kill(os.getppid(), signal.SIGKILL)"))

    assert verdict.status == "infra"
    assert home is not None
    assert end_leftovers(home) == 0
    assert sitting.judge(GOOD).status == "ok"


def test_judges_that_are_gone_answer_at_once(sitting: Sitting) -> None:
    """A request to judges whose parent was killed fails at once instead of at its limit."""
    sitting.judge(GOOD)
    judges = sitting.engine._judges
    assert judges is not None
    os.kill(sitting.pids()[0], signal.SIGKILL)
    sitting.until(lambda: judges.ended)

    with pytest.raises(RanksError, match="the judge ranks were ended"):
        sitting.run(judges.all({"op": "peak"}, limit=30))
    assert sitting.judge(GOOD).status == "ok"


@pytest.mark.parametrize("samples", [0, 2])
def test_judges_know_the_next_draw(samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a trial says of the draw that comes next is what is asked for next: a trial's, then that of timed calls."""
    asked: list[Message] = []
    ask = JudgeSet.ask

    def noted(judges: JudgeSet, messages: list[Message], *more: object) -> object:
        asked.append(messages[0])
        return ask(judges, messages, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(JudgeSet, "ask", noted)
    sitting = Sitting("problem_1", trials=4, samples=samples)
    verdict = sitting.judge(GOOD)
    sitting.close()
    assert verdict.status == "ok"

    fields = ("number", "trial", "stock", "scale")
    trials = [message for message in asked if message["op"] == "trial"]
    begun = [{**message, "trial": 0, "stock": False, "scale": 1.0} for message in asked if message["op"] == "begin"]
    drawn = [{name: message[name] for name in fields} for message in (*trials, *begun)]
    assert len(drawn) == 4 + (samples > 0)
    assert [trial["next"] for trial in trials] == [*drawn[1:], *([] if samples else [None])]


def test_timing_is_live_and_has_an_interval() -> None:
    """Timing shows figures as blocks come in and ends with an interval, samples of every rank, and its conditions."""
    sitting = Sitting("1", samples=30)
    verdict = sitting.judge(GOOD)
    progress = sitting.of(TimingProgress, verdict.attempt)
    sitting.close()

    assert [event.samples for event in progress] == [10, 20, 30]
    assert verdict.speedup is not None
    assert verdict.speedup.low <= verdict.speedup.median <= verdict.speedup.high
    assert [len(row) for row in verdict.candidate_samples_ms] == [30, 30]
    assert verdict.bandwidth is not None
    assert verdict.bandwidth.needed_bytes == 128 * 128 * 4
    assert verdict.bandwidth.peak_gbps is not None
    assert {"torch", "host", "world", "size"} <= set(verdict.environment)
    assert (verdict.cache, verdict.launch_ms, verdict.clock_mhz) == ("warm", None, None)


def test_cold_caches_where_they_are_asked_for() -> None:
    """On CPU ranks caches are filled before every call if the user wants it so, and the figures say it."""
    sitting = Sitting("1", samples=10, cache="cold")
    verdict = sitting.judge(GOOD)
    progress = sitting.of(TimingProgress, verdict.attempt)
    sitting.close()

    assert (verdict.status, verdict.cache) == ("ok", "cold")
    assert {event.cache for event in progress} == {"cold"}


def test_a_result_of_an_earlier_call_voids_the_timing() -> None:
    """A kernel that is honest while it is checked and replays while it is timed is found out, and gets no speedup."""
    replay = without(
        "calls, kept = 0, None\n"
        "def solution(tensor):\n"
        "    global calls, kept\n"
        "    calls += 1\n"
        "    if calls > 30:\n        return kept\n"
        "    kept = tensor.clone()\n    dist.all_reduce(kept)\n    return kept\n"
    )
    sitting = Sitting("1", samples=60)
    verdict = sitting.judge(replay)
    sitting.close()

    assert (verdict.status, verdict.speedup, verdict.candidate_ms) == ("wrong", None, None)
    assert "not the result of its inputs" in verdict.reason


@pytest.mark.parametrize(
    ("kept", "reason"),
    [("3 < calls < 120", "timed call"), ("calls == 122", "timed call 119: ")],
    ids=["all but the last calls", "the last call alone"],
)
def test_any_call_may_be_the_one_that_is_compared(kept: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who counts calls gains nothing: neither honest last calls nor an honest series up to the last one pass."""
    monkeypatch.setattr("workbench.flow.sampling._WARM_UP_CAP_S", 1e9)
    counts = without(
        "calls, out = 0, None\n"
        "def solution(tensor):\n"
        "    global calls, out\n"
        "    calls += 1\n"
        f"    if not ({kept}):\n        out = tensor.clone()\n        dist.all_reduce(out)\n"
        "    return out.clone()\n"
    )
    sitting = Sitting("1", samples=100, trials=1)
    verdict = sitting.judge(counts)
    sitting.close()

    assert (verdict.status, reason in verdict.reason) == ("wrong", True)


def test_what_the_driver_tells_of_a_timing_is_in_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others on a GPU, seen before the first call, and clocks that were held down meanwhile are both told."""

    async def before(_watch: GpuWatch) -> tuple[str, ...]:
        return ("shared-gpu (rank 0: pid 7 3.0 GB)",)

    async def after(_watch: GpuWatch) -> tuple[str, ...]:
        return ("throttled (power 12%, rank 1)",)

    monkeypatch.setattr(GpuWatch, "before", before)
    monkeypatch.setattr(GpuWatch, "after", after)
    sitting = Sitting("1", samples=10, trials=1)
    verdict = sitting.judge(GOOD)
    sitting.close()

    assert {"shared-gpu (rank 0: pid 7 3.0 GB)", "throttled (power 12%, rank 1)"} <= set(verdict.flags)


def test_a_patched_clock_is_suspect() -> None:
    """A candidate that stops the clocks of its own process is caught by the judge's clock."""
    patched = with_middle("import workbench.ranks.device as device\ndevice.CpuDevice.elapsed = lambda self: 1000\n"
                          "time.sleep(0.03)")  # fmt: skip
    sitting = Sitting("1", samples=20)
    verdict = sitting.judge(patched)
    sitting.close()

    assert (verdict.status, verdict.speedup) == ("suspect", None)


def test_closing_leaves_no_process() -> None:
    """When the engine closes in the middle of a hang, zygote and all ranks are gone."""
    sitting = Sitting("1")
    sitting.submit(NEVER)
    sitting.until(lambda: any(isinstance(e, PhaseChanged) and e.phase == "check" for e in sitting.events))
    pids = sitting.pids()
    sitting.close()

    assert len(pids) >= 1 + 3 * 2
    assert [pid for pid in pids if alive(pid)] == []
