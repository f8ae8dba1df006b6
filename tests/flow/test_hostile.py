"""Candidates that write to pkwb's own channels get a status, and reach neither the screen's process nor others."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import os
import signal
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from problems.loader import find_problem
from tests.flow.candidates import GOOD, with_middle, without
from tests.flow.sitting import Sitting
from workbench.events import Notice, PhaseChanged, TimingProgress, to_json
from workbench.flow.reports import as_ms, diagnostics, loading_answer, loading_failed
from workbench.flow.sets import CandidateSet, rank_request
from workbench.flow.zygote import Zygote
from workbench.judge.verdicts import Answer, first_cause, overall, reason, settle
from workbench.ranks.channel import SMALL_LIMIT, encode
from workbench.ranks.failures import failure, read_failure

_FORGE = """
import gc
from workbench.ranks.candidate import CandidateRank
rank = next(found for found in gc.get_objects() if type(found) is CandidateRank)
"""

_ZEROS = "0" * 400

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([10**400, -1, True]) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
failures = json_values | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("type", "message", "line", "column", "text", "secondary"), json_values)
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "event": st.sampled_from(["loaded", "failed", "ready", "exit", "stacks", "gone"]) | json_values,
        "status": st.sampled_from(["ok", "build-error", "infra"]) | json_values,
        "failure": failures,
        "ms": json_values,
        "rank": json_values,
    },
)


@given(value=failures)
def test_whatever_a_rank_calls_a_failure_is_read(value: Any) -> None:
    """A failure from a rank is text and numbers of bounded size once it was read; reading it again changes nothing."""
    found = read_failure(value)

    assert {name: type(part) for name, part in found.items()} == {
        "type": str, "message": str, "line": int, "column": int, "text": str, "secondary": bool,
    }  # fmt: skip
    assert found["message"].strip()
    assert read_failure(found) == found


def test_an_honest_failure_is_read_as_it_was_written() -> None:
    """The longest failure that a rank describes fits into what the parent takes from it, and arrives whole."""
    said = failure(ValueError("\U0001f600" * 5000), "kernel.py")

    assert len(encode({"event": "failed", "status": "load-error", "failure": said})) < SMALL_LIMIT
    assert read_failure(said) == said


@given(message=messages)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_answer_to_load_becomes_a_status(message: dict[str, Any]) -> None:
    """Whatever a candidate sends as its answer, the attempt is loaded or has a load error; nothing raises."""
    future: asyncio.Future[Any] = asyncio.Future(loop=asyncio.new_event_loop())
    future.set_result(message)
    found = [loading_answer(Answer(rank=0), future)]
    ranks = settle(found)
    status, cause = overall(ranks), first_cause(found)
    future.get_loop().close()

    assert status in (("load-error", "build-error") if loading_failed(message) else ("ok",))
    assert reason(status, ranks, cause.rank if cause else None) or status == "ok"
    assert all(json.loads(to_json(event)) for event in diagnostics(found, "kernel.py"))
    assert 0 <= as_ms(message.get("ms")) < 1e9


def test_a_source_does_not_change_its_pitch() -> None:
    """How fast a rank starts kernels is what it said when it stood by, whatever it says once a source has run."""

    async def hear() -> list[int]:
        ranks = CandidateSet(Zygote(), 2)
        ranks._message(0, {"event": "ready", "torch": "2.13", "pitch_ns": 1900})
        ranks._message(0, {"event": "ready", "torch": "2.13", "pitch_ns": 5})
        ranks.kill()
        return ranks.pitch_ns

    assert asyncio.run(hear()) == [1900, 0]


@given(sent=st.lists(messages, min_size=1, max_size=4))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_set_takes_one_answer_and_no_more(sent: list[dict[str, Any]]) -> None:
    """After a rank has the source, its first message is its answer, and nothing else it sends is heard."""

    async def hear() -> Any:
        ranks = CandidateSet(Zygote(), 1)
        ranks._message(0, {"event": "ready", "torch": "2.13"})
        ranks._message(0, {"event": "holding"})
        for message in sent:
            ranks._message(0, message)
        ranks.kill()
        return ranks.loaded[0].result()

    assert asyncio.run(hear()) is sent[0]


@pytest.mark.parametrize(
    ("forged", "status"),
    [
        ('{"event": "loaded", "ms": 1e999}', "ok"),
        ('{"event": "loaded", "ms": 1' + _ZEROS + "}", "ok"),
        ('{"event": "failed"}', "load-error"),
        ('{"event": "failed", "failure": {"type": "NoSolution", "line": 1' + _ZEROS + "}}", "load-error"),
        ('{"event": "failed", "failure": [[[]]]}', "load-error"),
        ('{"event": "exit", "rank": 7}', "load-error"),
        ("{}", "load-error"),
        ("[1]", "load-error"),
        ('{"text": "' + "x" * SMALL_LIMIT + '"}', "load-error"),
    ],
    ids=["endless", "huge", "no failure", "no words", "list", "not its own", "empty", "no object", "long"],
)  # fmt: skip
def test_a_forged_answer_to_load_is_no_harm(sitting: Sitting, forged: str, status: str) -> None:
    """A file that answers in its rank's place, with nonsense, gets a status like any other; the next one is judged."""
    lines = ["import struct", f"text = {forged!r}.encode()", "frame = struct.pack('!I', len(text)) + text"]
    send = "try:\n    rank._control._socket.sendall(frame)\nexcept OSError:\n    pass\n"
    assert sitting.judge(GOOD + _FORGE + "\n".join(lines) + "\n" + send).status == status
    assert sitting.judge(GOOD).status == "ok"


def test_a_flood_of_messages_is_not_read(sitting: Sitting) -> None:
    """A rank that never stops sending is judged by its first message, and holds nobody up."""
    flood = without(_FORGE + "while True:\n    rank._control.send({})\n")
    assert sitting.judge(flood).status == "load-error"


@pytest.mark.parametrize("claim", ["10 ** 400", "-5", "True", "float('nan')"])
def test_a_time_that_cannot_be_is_malformed(sitting: Sitting, claim: str) -> None:
    """A call's duration that is no number of nanoseconds ends the attempt as a crash of its rank."""
    verdict = sitting.judge(with_middle(
        f"import workbench.ranks.device as device\ndevice.CpuDevice.elapsed = lambda self: {claim}"
    ))  # fmt: skip
    assert (verdict.status, "malformed answer" in verdict.reason) == ("crash", True)


def test_a_forged_stack_is_no_harm(sitting: Sitting) -> None:
    """A candidate that writes its own stacks, with a line number of a thousand digits, is told of as any other."""
    forge = textwrap.indent(
        "text = 'Thread 0x1:\\n  File \"/work-in-progress/candidate.py\", line ' + '9' * 5000 + ' in f\\n'\n"
        "for fd in filter(os.path.exists, [f'/proc/self/fd/{number}' for number in range(3, 64)]):\n"
        "    if 'stacks' in os.readlink(fd):\n        os.write(int(fd[14:]), text.encode())\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
        "    ",
    )
    verdict = sitting.judge(with_middle("if rank == 0:\n" + forge))
    assert (verdict.status, verdict.reason) == ("crash", "rank 0: killed by signal 9, SIGKILL")


def test_the_death_of_all_ranks_while_a_file_loads_is_not_a_hang(sitting: Sitting) -> None:
    """When everything is killed while the file is loaded, ranks are started anew at once."""
    number = sitting.submit(without("time.sleep(1e6)\n"))
    sitting.until(lambda: any(e.phase == "load" for e in sitting.of(PhaseChanged, number)))
    told = sum(isinstance(event, Notice) for event in sitting.events)
    os.kill(sitting.pids()[0], signal.SIGKILL)
    sitting.until(lambda: sum(isinstance(event, Notice) for event in sitting.events) > told)
    sitting.cancel()
    sitting.verdict()

    assert sitting.judge(GOOD).status == "ok"


def descriptors() -> int:
    """Descriptors that this process holds."""
    return len(os.listdir("/dev/fd"))


def test_starting_ranks_anew_keeps_no_descriptors(sitting: Sitting) -> None:
    """However often ranks have to be started anew, the screen's process holds as many descriptors as before."""
    sitting.judge(GOOD)
    sitting.until(lambda: sitting.engine.standing_by)
    before = descriptors()
    for _ in range(2):
        os.kill(sitting.pids()[0], signal.SIGKILL)
        sitting.until(lambda: not sitting.engine._zygote.alive)
        assert sitting.judge(GOOD).status == "ok"
        sitting.until(lambda: sitting.engine.standing_by)

    assert descriptors() <= before


def test_a_reference_that_cannot_be_loaded_is_told_and_keeps_no_descriptors(tmp_path: Path) -> None:
    """A problem of one's own with a broken reference is infra each time, with the reason, and leaves nothing open."""
    (tmp_path / "reference.py").write_text("raise ImportError('no such thing')\n")
    sitting = Sitting(dataclasses.replace(find_problem("1", []), folder=tmp_path))
    before = descriptors()
    for _ in range(2):
        verdict = sitting.judge(GOOD)
        assert (verdict.status, "no such thing" in verdict.reason) == ("infra", True)
    assert descriptors() <= before
    sitting.close()


def test_no_error_of_a_start_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is none of pkwb's own, met while a warm set starts, is told by the attempt and does not stick."""
    sitting = Sitting("1")
    sitting.judge(GOOD)
    sitting.until(lambda: sitting.engine.standing_by)
    errors = [OSError("too many open files")]

    def request(*arguments: Any) -> Any:
        if errors:
            raise errors.pop()
        return rank_request(*arguments)

    monkeypatch.setattr("workbench.flow.engine.rank_request", request)
    sitting.judge(GOOD)  # takes the set that stands by; the next one does not start
    first, second = sitting.judge(GOOD), sitting.judge(GOOD)
    sitting.close()

    assert (first.status, "too many open files" in first.reason, second.status) == ("infra", True, "ok")


@pytest.mark.parametrize("region", ["_inbox", "_outbox"])
def test_memory_that_a_candidate_makes_huge_is_no_harm(sitting: Sitting, region: str) -> None:
    """A candidate that makes shared memory a petabyte long is judged by its results all the same."""
    told = len(sitting.of(Notice, 0))
    grow = f"import os\nos.ftruncate(rank.{region}.fd, 1 << 50)\n"

    assert sitting.judge(GOOD + _FORGE + grow).status == "ok"
    assert len(sitting.of(Notice, 0)) == told


def test_work_left_until_results_are_fetched_is_suspect() -> None:
    """A candidate whose calls do nothing, and that makes a result only when one is looked at, gets no speedup."""
    lazy = without(_FORGE + textwrap.dedent("""
        from workbench.ranks.candidate import _OPERATIONS
        def solution(tensor):
            return torch.empty_like(tensor)
        def made(then):
            def export(self, message):
                self._result = self._arguments.values[0].clone()
                dist.all_reduce(self._result)
                time.sleep(0.1)
                return then(self, message)
            return export
        CandidateRank._export = made(CandidateRank._export)
        _OPERATIONS["export"] = made(_OPERATIONS["export"])
    """))  # fmt: skip
    sitting = Sitting("1", samples=200, trials=1)  # so many that the share that is looked at holds enough
    verdict = sitting.judge(lazy.replace("rank = next", "_rank = next"))
    sitting.close()

    assert (verdict.status, verdict.speedup) == ("suspect", None)


def test_calls_that_claim_no_time_at_all_are_suspect() -> None:
    """A candidate whose clock stands still while it is timed gets no speedup, and no figure on the way is infinite."""
    sitting = Sitting("1", samples=20)
    still = "import workbench.ranks.device as device\ndevice.CpuDevice.elapsed = lambda self: 0\ntime.sleep(0.03)"
    verdict = sitting.judge(with_middle(still))
    figures = sitting.of(TimingProgress, verdict.attempt)
    sitting.close()

    assert (verdict.status, verdict.speedup) == ("suspect", None)
    shown = [bound for event in figures for bound in (event.speedup.median, *(event.speedup.interval or ()))]
    assert len(shown) > len(figures)
    assert all(map(math.isfinite, shown))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_reference_rank_that_dies_while_calls_are_timed_is_no_fault_of_the_kernel(rank: int) -> None:
    """When a rank that runs the reference is killed while calls are timed, the attempt is made again on new ranks."""
    sitting = Sitting("1", samples=100)
    try:
        attempt = sitting.submit(with_middle("time.sleep(0.01)"))
        sitting.until(lambda: bool(sitting.of(TimingProgress, attempt)))
        baseline = sitting.engine._baseline
        assert baseline is not None
        os.kill(baseline.pids[rank], signal.SIGKILL)
        verdict = sitting.verdict()

        assert (verdict.status, verdict.reason) == ("ok", "")
        assert [note for note in sitting.of(Notice, 0) if "started anew" in note.text]
    finally:
        sitting.close()
