"""Series of calls on one rank: which arguments each call gets, what is timed, and what the last call finds."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence

import pytest
import torch

from workbench.ranks.channel import Channel
from workbench.ranks.graphs import NotCaptured, capture
from workbench.ranks.peer import Peer, PeerFailed
from workbench.ranks.series import MARKS, rotation, timed, warm_up
from workbench.ranks.shared import Region, shared_fd

Pairs = Sequence[tuple[int, int]]


class Steps:
    """A clock that goes on by 10 ns with every call and by 1000 with every restore, 1 with every look."""

    def __init__(self) -> None:
        self.now = 0
        self.seen: list[str] = []

    def mark(self) -> int:
        """The time."""
        self.now += 1
        return self.now

    def spans(self, pairs: Pairs) -> list[int]:
        """Differences."""
        return [end - begin for begin, end in pairs]

    def solution(self, name: str, other: int) -> str:
        """A call, whose result is what it got."""
        self.now += 10
        self.seen.append(name)
        return name

    def restore(self) -> None:
        """What is undone before the last call."""
        self.now += 1000
        self.seen.append("restore")


def test_copies_take_turns_and_the_last_call_gets_the_original() -> None:
    """The result that is compared is of the values that were written last, which the copies do not have."""
    steps = Steps()
    result, _spans = timed(steps.solution, [["original", 0], ["one", 0], ["two", 0]], 5, steps.restore, steps)

    assert steps.seen == ["one", "original", "two", "one", "restore", "original"]
    assert result == "original"


def test_every_call_is_timed_and_nothing_else() -> None:
    """Restoring arguments is in no call's time."""
    steps = Steps()
    _result, spans = timed(steps.solution, [["original", 0]], 4, steps.restore, steps)

    assert spans == [11, 11, 11, 11]


def test_warm_up_uses_all_copies() -> None:
    """Calls that do not count are as many as asked for and touch each copy."""
    steps = Steps()
    warm_up(steps.solution, [["original", 0], ["one", 0]], 3)

    assert steps.seen == ["original", "one", "original"]


def test_the_clock_of_cpu_ranks_runs_forward() -> None:
    """CPU calls are timed by a clock in ns that never goes back."""
    marks = MARKS["cpu"]()
    first, second, third = (marks.mark() for _ in range(3))

    assert min(marks.spans([(first, second), (second, third)])) >= 0


@pytest.mark.parametrize(
    ("elements", "cache", "count"),
    [(1000, 4000, 4), (999, 4000, 4), (3000, 4000, 1), (10, 1 << 30, 128), (0, 4000, 1), (1000, 0, 1)],
)
def test_first_tensor_is_copied_until_caches_are_exceeded(elements: int, cache: int, count: int) -> None:
    """A tensor of b bytes under three caches c has floor(3c/b) + 1 versions, at most 128; a larger one has one."""
    first, second = torch.arange(elements, dtype=torch.float32), torch.ones(2)
    found = rotation([7, first, second], cache)

    assert len(found) == count
    assert len({values[1].data_ptr() for values in found}) == count
    assert all(torch.equal(values[1], first) for values in found)
    assert all(values[0] == 7 and values[2] is second for values in found)


def test_arguments_without_a_tensor_are_left_alone() -> None:
    """A list of tensors is not the tensor that the protocol copies."""
    values = [[torch.ones(4)], 3]

    assert rotation(values, 1 << 20) == [values]


def test_cpu_ranks_have_no_graphs() -> None:
    """Asked for a graph, CPU ranks say why there is none."""
    with pytest.raises(NotCaptured, match="CPU ranks have no CUDA graphs"):
        capture(lambda: None, [], torch.device("cpu"))


@pytest.fixture
def rank() -> Iterator[tuple[Peer, Channel]]:
    """The judge's view of a rank, and the rank's end of their channel."""
    near, far = socket.socketpair()
    regions = [Region(shared_fd("test")) for _ in range(2)]
    peer, channel = Peer(Channel(near.detach()), *regions), Channel(far.detach())
    yield peer, channel
    peer.close()
    channel.close()


@pytest.mark.parametrize(
    "said",
    [None, 7, "12", [], [5], [5, 5, 5], [5, -1], [5, 1 << 62], [5, 2.5], [5, True], [5, "5"], {"0": 5, "1": 5}],
)
def test_times_that_cannot_be_are_refused(rank: tuple[Peer, Channel], said: object) -> None:
    """A rank that answers a series of two calls with anything but two times has crashed, as the user is told."""
    peer, channel = rank
    channel.send({"series_ns": said})

    with pytest.raises(PeerFailed, match="malformed answer"):
        peer.series([], 2)


def test_times_that_can_be_are_taken(rank: tuple[Peer, Channel]) -> None:
    """The times of a series are the rank's, the bracket around it is the judge's own."""
    peer, channel = rank
    channel.send({"series_ns": [5, 7]})
    times, bracket = peer.series([], 2)

    assert times == [5, 7]
    assert bracket > 0


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"captured": True, "detail": ""}, ""),
        ({"captured": False, "detail": "it waits"}, "it waits"),
        ({"captured": 1, "detail": ""}, "no reason given"),
        ({"captured": "yes", "detail": {"a": 1}}, "{'a': 1}"),
    ],
)
def test_only_a_plain_yes_is_a_capture(rank: tuple[Peer, Channel], reply: dict[str, object], words: str) -> None:
    """Whatever a rank answers, there is a graph or a reason in words why there is none."""
    peer, channel = rank
    channel.send(reply)

    assert peer.capture() == words
