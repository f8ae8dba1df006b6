"""Draws that are made ahead are the draws that are asked for, and others are made when they are asked for."""

from __future__ import annotations

import socket
import threading
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from problems.binding import bind, judge_job
from problems.loader import find_problem
from workbench.flow.plan import draws, trial_plan
from workbench.ranks import ahead
from workbench.ranks.judge import JudgeRank
from workbench.ranks.peer import PeerGone
from workbench.ranks.shared import shared_fd

HERE = threading.get_ident()


class Source:
    """Draws that say what they are, and notes who made them."""

    def __init__(self) -> None:
        self.made: list[tuple[ahead.Draw, bool]] = []
        self.done = threading.Semaphore(0)

    def draw(self, *which: Any) -> list[Any]:
        """A draw's arguments: its number, twice."""
        self.made.append((ahead.Draw(*which), threading.get_ident() == HERE))
        self.done.release()
        return [torch.tensor([float(which[0])]), [torch.tensor(which[0])]]


@pytest.fixture
def source() -> Source:
    """A source that nothing was drawn of."""
    return Source()


def _number(arguments: list[Any]) -> float:
    return float(arguments[0])


def test_the_next_draw_is_made_by_another_thread(source: Source) -> None:
    """A draw that was begun is made once, elsewhere, and given when it is asked for."""
    draws = ahead.DrawAhead(source.draw, threads=1)
    assert _number(draws.take(ahead.Draw(1))) == 1
    draws.begin(ahead.Draw(2, 1, True, 3.0))
    assert _number(draws.take(ahead.Draw(2, 1, True, 3.0))) == 2
    assert source.made == [(ahead.Draw(1), True), (ahead.Draw(2, 1, True, 3.0), False)]


@pytest.mark.parametrize("other", [ahead.Draw(3), ahead.Draw(2, 1), ahead.Draw(2, 0, True), ahead.Draw(2, 0, False, 2)])
def test_another_draw_than_the_one_begun(other: ahead.Draw, source: Source) -> None:
    """Whatever was begun, the arguments are those of the draw that is asked for, and what was begun is given up."""
    draws = ahead.DrawAhead(source.draw, threads=1)
    draws.take(ahead.Draw(1))
    draws.begin(ahead.Draw(2))
    assert _number(draws.take(other)) == other.number
    assert (other, True) in source.made
    assert _number(draws.take(ahead.Draw(2))) == 2
    assert source.made[-1] == (ahead.Draw(2), True)


@pytest.mark.parametrize("reason", ["no thread", "nothing known of its size", "large"])
def test_nothing_is_made_ahead(reason: str, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a core for it, before the first draw, and where two draws at a time take much memory, none is begun."""
    draws = ahead.DrawAhead(source.draw, threads=int(reason != "no thread"))
    if reason == "large":
        monkeypatch.setattr(ahead, "_MOST_BYTES", 11)  # a draw here has 4 and 8 bytes
    if reason != "nothing known of its size":
        draws.take(ahead.Draw(1))
    draws.begin(ahead.Draw(2))
    assert _number(draws.take(ahead.Draw(2))) == 2
    assert all(here for _, here in source.made)


def test_an_error_of_a_draw_comes_when_it_is_asked_for(source: Source) -> None:
    """What goes wrong in the other thread is the error of the call that needs the draw."""
    draws = ahead.DrawAhead(lambda number, *_: source.draw(number) if number == 1 else [1 // 0], threads=1)
    draws.take(ahead.Draw(1))
    draws.begin(ahead.Draw(2))
    with pytest.raises(ZeroDivisionError):
        draws.take(ahead.Draw(2))


def test_what_was_dropped_is_made_anew(source: Source) -> None:
    """Nothing of an attempt that ended is kept for the next one."""
    draws = ahead.DrawAhead(source.draw, threads=1)
    draws.take(ahead.Draw(1))
    draws.begin(ahead.Draw(2))
    draws.drop()
    draws.take(ahead.Draw(2))
    assert source.made[-1] == (ahead.Draw(2), True)


def _judge(spin_ns: int, generator: dict[str, Any] | None) -> JudgeRank:
    judge = JudgeRank(0, 1, None, spin_ns)  # type: ignore[arg-type]
    job = judge_job(bind(find_problem("1", []), "smoke", 1, "float32"), 0)
    judge._setup({"job": {**job, "generator": generator}, "seed": "00" * 16})
    return judge


@pytest.mark.parametrize(
    ("spin_ns", "generator", "ahead_of_time"), [(1, None, True), (0, None, False), (1, {"number": 1}, False)]
)
def test_who_draws_ahead(spin_ns: int, generator: dict[str, Any] | None, ahead_of_time: bool) -> None:
    """Judges with a core to spare draw ahead; never from a checkout's generator, which runs on the baseline rank."""
    assert (_judge(spin_ns, generator)._draws._pool is not None) is ahead_of_time


@pytest.mark.parametrize(
    ("index", "timed", "begun"),
    [(0, False, ahead.Draw(8, 1, True)), (1, True, ahead.Draw(8)), (1, False, None)],
)
def test_the_draw_that_comes_next_is_begun(index: int, timed: bool, begun: ahead.Draw | None) -> None:
    """While ranks run a trial their judge draws for the next one, and after the last for the timing."""
    judge = _judge(1, None)
    with pytest.raises(PeerGone):  # no rank is there to run it
        judge._run_reference(draws(7, index, trial_plan(2, (1.0,)), timed))
    assert (judge._draws._begun and judge._draws._begun[0]) == begun


def test_a_new_set_of_ranks_begins_afresh() -> None:
    """When a judge gets other ranks, what it had begun for an attempt that ended is given up."""
    judge = _judge(1, None)
    judge._draws.take(ahead.Draw(1))
    judge._draws.begin(ahead.Draw(2))
    ends = [socket.socketpair() for _ in range(2)]
    for ours, theirs in ends:
        judge._control = SimpleNamespace(fds=[ours.detach(), shared_fd("inbox"), shared_fd("outbox")])  # type: ignore[assignment]
        judge._attach({"side": "candidate"})
        theirs.close()
    assert judge._draws._begun is None
    judge._peers["candidate"].close()
