"""What the panes are told to show, event by event."""

from __future__ import annotations

import dataclasses
import typing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.widgets import model_script, script
from widgets.output import KEEP_LINES
from widgets.state import KEEP_NOTICES, RunView, Speed, reduce
from workbench import events
from workbench.events import (
    Diagnostic,
    Event,
    FirstVerdict,
    Log,
    Notice,
    PhaseChanged,
    RankSummary,
    Status,
    WatchChanged,
)


def statuses(view: RunView, world: int = 2) -> list[tuple[Status | None, bool]]:
    """Status of each shown rank, and whether it is stale."""
    return [(shown.row.status, shown.stale) for shown in view.rows(world)]


def test_nothing_has_run_yet() -> None:
    """Before the first save every rank waits and nothing runs."""
    view = script.show([script.ready()])

    assert statuses(view) == [(None, False), (None, False)]
    assert (view.attempt, view.busy, view.status) == (0, False, None)


def test_good_run() -> None:
    """After a good run the speedup, the trials and every rank's figures are there, and none is stale."""
    view = script.show(script.good_run())

    assert statuses(view) == [("ok", False), ("ok", False)]
    assert view.current.trials == (5, 5)
    assert view.measured == (view.current, False)
    assert view.best == Speed(number=1, ratio=script.ratio(1.34))
    assert not view.busy
    assert all(stage.state == "finished" for stage in view.current.stages)


def test_attempt_that_begins_again_counts_anew() -> None:
    """When ranks are started anew in the middle, what the first try showed is gone and trials count from 0."""
    first, again = script.timing_run(), [event for event in script.loaded() if isinstance(event, PhaseChanged)]
    begun = script.show([*first, *again])
    view = script.show([*first, *again, script.judged(1, 0, 0), script.judged(1, 1, 0)])

    assert (begun.status, begun.current.trials, begun.current.timing) == (None, (0, 0), None)
    assert view.current.trials == (1, 5)
    assert (view.current.running or view.current.stages[0]).phase == "check"


def test_first_verdict_comes_before_the_last_word() -> None:
    """The status is known after the first trial, while the attempt still runs."""
    first = [script.judged(1, 0, 0), script.judged(1, 1, 0), FirstVerdict(attempt=1, status="ok", since_save_ms=20.0)]
    view = script.show([*script.loaded(), *first])

    assert view.status == "ok"
    assert view.busy
    assert view.current.trials == (1, 5)


def test_wrong_run_keeps_what_was_wrong_first() -> None:
    """A rank that was wrong once stays wrong, with the first bad place, whatever later trials say."""
    view = script.show([*script.loaded(), script.judged(1, 1, 0, "wrong"), script.judged(1, 1, 1)])
    row = view.current.row(1)

    assert (row.status, row.first_bad, row.expected, row.got) == ("wrong", "out[3, 17]", "0.5", "0")
    assert row.max_abs_err == 0.5


def test_last_good_result_stays_while_the_next_runs() -> None:
    """A new save leaves the last good rows and speed on screen as stale, each rank until it is judged again."""
    view = script.show([*script.good_run(1), *script.loaded(2)])

    assert statuses(view) == [("ok", True), ("ok", True)]
    assert view.measured == (view.good, True)
    view = reduce(view, script.judged(2, 1, 0, "wrong"))
    assert statuses(view) == [("ok", True), ("wrong", False)]


def test_bad_run_keeps_the_last_good_speed() -> None:
    """After a wrong run its ranks are shown, and the speed of the last good attempt stays, stale."""
    view = script.show([*script.good_run(1), *script.wrong_run(2)])

    assert statuses(view) == [("ok", False), ("wrong", False)]
    assert view.measured == (view.good, True)
    assert view.status == "wrong"


def test_build_error_keeps_the_last_good_rows() -> None:
    """An attempt that never reached the ranks leaves the last good rows, stale, and its own stages and place."""
    view = script.show([*script.good_run(1), *script.build_error_run(2)])

    assert statuses(view) == [("ok", True), ("ok", True)]
    assert [(one.line, one.column) for one in view.current.diagnostics] == [(7, 13)]
    assert view.current.stages[0].state == "failed"


def test_differences_are_taken_against_the_good_attempt_before() -> None:
    """While timing, the shown speed is compared with the last good attempt; afterwards still with the same one."""
    first = script.good_run(1, speedup=1.2)
    during = script.show([*first, *script.timing_run(2, 63, speedup=1.5)])
    after = script.show([*first, *script.good_run(2, speedup=1.5)])

    assert during.measured == (during.current, False)
    assert during.baseline == after.baseline == Speed(number=1, ratio=script.ratio(1.2))


def test_best_stays_the_fastest() -> None:
    """A slower good attempt does not replace the best; a wrong one never does."""
    view = script.show([*script.good_run(1, speedup=1.5), *script.good_run(2, speedup=1.2), *script.wrong_run(3)])

    assert view.best == Speed(number=1, ratio=script.ratio(1.5))
    assert [speed.number for speed in view.speedups] == [1, 2]


def test_superseded_run_leaves_no_trace() -> None:
    """What still arrives for a superseded attempt changes nothing of the newer one."""
    view = script.show(script.superseded_run())

    assert view.attempt == 2
    assert view == script.show([*script.superseded_run(), script.judged(1, 0, 3, "wrong"), script.verdict(1, "wrong")])
    assert statuses(view) == [("ok", False), ("ok", False)]


def test_cancelled_run() -> None:
    """A cancelled attempt stops its stage and shows the ranks judged so far."""
    view = script.show([*script.loaded(), script.judged(1, 0, 0), script.verdict(1, "cancelled")])

    assert view.status == "cancelled"
    assert view.current.running is None
    assert view.current.stages[3].state == "stopped"
    assert statuses(view) == [("ok", False), (None, False)]


def test_nothing_follows_the_last_word() -> None:
    """After its verdict an attempt takes no more figures, but still output."""
    view = script.show(script.good_run())
    later = script.show([script.judged(1, 0, 5, "wrong"), script.timing(1, 10), script.verdict(1, "wrong")], view)

    assert later == view
    logged = reduce(view, Log(attempt=1, rank=0, stream="stdout", text="bye\n"))
    assert logged.output.lines[-1].text == "bye"


def test_attempt_begins_without_its_save() -> None:
    """An attempt whose save event was missed begins with whatever comes first."""
    view = script.show([script.judged(3, 0, 0)])

    assert (view.attempt, view.current.row(0).status) == (3, "ok")


def test_save_without_change_is_seen() -> None:
    """A save that changed nothing is shown with its time and runs nothing."""
    unchanged = script.seen(1, changed=False, later=9)
    view = script.show([*script.good_run(1), unchanged])

    assert view.seen == unchanged
    assert (view.attempt, view.busy) == (1, False)


def test_hang_shows_where_each_rank_stands() -> None:
    """After a hang the place of every rank is known and its stack is in the log."""
    view = script.show(script.hang_run())

    assert [stack.where.split(",")[0] for stack in view.current.stacks] == ["barrier", "sleep"]
    assert any("time.sleep" in line.text for line in view.output.lines if line.rank == 1)


def test_same_diagnostic_is_listed_once() -> None:
    """A diagnostic that is sent twice is listed once."""
    run = script.build_error_run()
    view = script.show([*run, run[3]])

    assert len(view.current.diagnostics) == 1


def test_error_replaces_the_warning_of_it() -> None:
    """What the quick build warned of and the full build confirms is listed once, as the error; other warnings stay."""
    error = Diagnostic(attempt=1, severity="error", message="expected ';'", path="kernel.py", line=3, column=7)
    doubt = dataclasses.replace(error, severity="warning", message="expected ';' (the full build decides)")
    other = dataclasses.replace(doubt, line=9)
    view = script.show([*script.loaded(), doubt, other, error])

    assert view.current.diagnostics == (error, other)


def test_verdict_of_a_rank_outranks_what_was_seen_live() -> None:
    """A rank that had passed its trials but is suspect in the end is shown as suspect."""
    ranks = (RankSummary(rank=0, status="suspect", detail="faster than the link"),)
    view = script.show([*script.loaded(), script.judged(1, 0, 0), script.verdict(1, "suspect", "too fast", ranks)])

    assert view.current.row(0).status == "suspect"
    assert view.current.row(0).max_abs_err == 1.2e-3


def test_nan_error_is_the_largest() -> None:
    """A NaN error is not hidden by a smaller number of a later trial."""
    nan = dataclasses.replace(script.judged(1, 0, 0, "wrong"), max_abs_err=float("nan"))
    view = script.show([*script.loaded(), nan, script.judged(1, 0, 1)])

    assert str(view.current.row(0).max_abs_err) == "nan"


def test_old_notices_and_output_are_dropped() -> None:
    """However much is said, what is kept stays bounded, and the count of dropped lines is known."""
    view = script.show(Notice(severity="warning", text=str(number)) for number in range(200))
    view = script.show([Log(attempt=1, rank=0, stream="stdout", text="line\n" * (KEEP_LINES + 10))], view)

    assert len(view.notices) == KEEP_NOTICES
    assert (len(view.output.lines), view.output.dropped) == (KEEP_LINES, 11)


def test_machine_wide_events() -> None:
    """Load, watch mode and ready ranks are kept, whatever attempt runs."""
    watch = WatchChanged(mode="poll", path=script.PATH, reason="network file system")
    view = script.show([*script.good_run(2), script.ready(), script.telemetry(), watch])

    assert (view.ready, view.telemetry, view.watch) == (script.ready(), script.telemetry(), watch)
    assert view.attempt == 2


def _any_event() -> st.SearchStrategy[Event]:
    scripted = [
        *script.good_run(2),
        *script.wrong_run(3),
        *script.crash_run(4),
        *script.hang_run(5),
        *script.build_error_run(6),
        *script.superseded_run(7),
        script.ready(),
        script.telemetry(),
        FirstVerdict(attempt=1, status="wrong", since_save_ms=1.0),
    ]
    number = st.integers(0, 9)
    return st.builds(
        lambda event, attempt: dataclasses.replace(event, attempt=attempt), st.sampled_from(scripted), number
    )


@settings(max_examples=200, deadline=None)
@given(st.lists(_any_event(), max_size=30))
def test_any_order_of_events_is_taken(sequence: list[Event]) -> None:
    """No order of events breaks the view: the attempt never goes back, and each rank has exactly one row."""
    view = RunView()
    for event in sequence:
        before, view = view.attempt, reduce(view, event)
        assert view.attempt >= before
        assert [shown.row.rank for shown in view.rows(2)] == list(range(len(view.rows(2))))
        assert view.good is None or view.good.good
        assert view.baseline is None or view.measured[0] is not None


@pytest.mark.parametrize("status", [one for one in typing.get_args(Status) if one != "ok"])
def test_only_ok_counts_as_good(status: Status) -> None:
    """No other status than ok replaces the last good attempt or the best speed."""
    view = script.show([*script.good_run(1), script.seen(2), script.verdict(2, status, "", (), 9.0)])

    assert view.good is not None
    assert view.good.number == 1
    assert view.best == Speed(number=1, ratio=script.ratio(1.34))


def test_every_kind_of_event_is_covered() -> None:
    """Each event that the stream can carry has a script, so that no pane meets an unknown one."""
    kinds = {kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event)} - {Event}
    scripted = {type(event) for event in [*script.good_run(), *script.crash_run(), *script.hang_run()]}
    machine = {type(event) for event in (script.ready(), script.telemetry())} | {Notice, WatchChanged}

    assert kinds == scripted | machine | {type(event) for event in model_script.conversation()}
