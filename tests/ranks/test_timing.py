"""The order of things in a timed call, values that come late, cold caches, and what a rank may claim."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

import torch

from workbench.ranks import candidate, device, timing
from workbench.ranks.arguments import Arguments
from workbench.ranks.channel import Channel
from workbench.ranks.draws import Delta, split
from workbench.ranks.flush import Flush, last_cache
from workbench.ranks.gate import Opened
from workbench.ranks.judge import JudgeRank, _copying_ns
from workbench.ranks.peer import CallValues, Peer, PeerFailed, TimedCall
from workbench.ranks.shared import Region, Slots, shared_fd
from workbench.ranks.transport import pack, unpack

CPU = torch.device("cpu")


class Recorder:
    """Device, gate and slots that note what they were asked, in order."""

    name = "recorded"
    world = 1

    def __init__(self, holds: bool, flushes: bool = True) -> None:
        self.holds = holds
        self.flushes = flushes
        self.seen: list[str] = []

    def __getattr__(self, step: str) -> Callable[..., Any]:
        answers = {"flush": self.flushes, "elapsed": 42, "opened": Opened(mhz=1980, held=True)}

        def note(*_arguments: object) -> Any:
            self.seen.append(step)
            return answers.get(step)

        return note

    def timer(self, monkeypatch: pytest.MonkeyPatch) -> timing.Timer:
        """A timer whose every part is this."""
        monkeypatch.setattr(timing, "make_gate", lambda *_: self)
        return timing.Timer(self, self, 0)  # type: ignore[arg-type]

    def solution(self) -> str:
        """The call."""
        self.seen.append("solution")
        return "result"


def test_a_timed_call_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches are filled before all wait for each other; late values and the call queue up behind the shut gate."""
    recorder = Recorder(holds=True)
    result, timed = recorder.timer(monkeypatch).time(recorder.solution, (), recorder.late, cold=True)
    assert recorder.seen == [
        "flush", "synchronize", "align", "shut", "late", "start", "solution", "end", "queued", "elapsed", "opened",
    ]  # fmt: skip
    assert (result, timed.ns, timed.mhz, timed.held, timed.cold) == ("result", 42, 1980, True, True)
    assert timed.host_ns > 0


def test_a_timed_call_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last values are written before the ranks meet, so that all begin together."""
    recorder = Recorder(holds=False)
    _result, timed = recorder.timer(monkeypatch).time(recorder.solution, (), recorder.late)
    told = [step for step in recorder.seen if step not in ("shut", "queued", "opened")]
    assert told == ["late", "synchronize", "align", "start", "solution", "end", "elapsed"]
    assert (timed.host_ns, timed.cold) == (0, False)


def test_a_call_of_a_trial_has_no_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that are only judged are aligned and clocked, nothing more."""
    recorder = Recorder(holds=True)
    assert recorder.timer(monkeypatch).call(recorder.solution, ()) == ("result", timing.Timed(42))
    assert recorder.seen == ["synchronize", "align", "start", "solution", "end", "elapsed"]


def test_without_memory_for_it_a_call_is_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that was to be cold goes on without, and says so."""
    recorder = Recorder(holds=True, flushes=False)
    _result, timed = recorder.timer(monkeypatch).time(recorder.solution, (), cold=True)
    assert not timed.cold


def delta(argument: int, places: list[int], values: list[float]) -> Delta:
    """A change of some elements."""
    return Delta(argument, torch.tensor(places), torch.tensor(values))


def test_late_values_wait_for_their_moment() -> None:
    """Staged values are in no tensor that a candidate has until they are written; a mutable argument gets them too."""
    arguments = Arguments([("plain", torch.zeros(4)), ("plain", torch.zeros(4))], [1], CPU)
    arguments.refresh([delta(0, [0], [1.0]), delta(1, [0], [2.0])])
    write = arguments.stage([delta(0, [3], [7.0]), delta(1, [3], [8.0])])
    assert [value.tolist() for value in arguments.values] == [[1, 0, 0, 0], [2, 0, 0, 0]]
    write()
    assert [value.tolist() for value in arguments.values] == [[1, 0, 0, 7], [2, 0, 0, 8]]
    arguments.values[1].fill_(5)
    arguments.refresh([])
    assert arguments.values[1].tolist() == [2, 0, 0, 8]


def test_the_fewest_values_come_late() -> None:
    """A rank is told most of a call's new values ahead of it, and a few of them when all ranks are about to begin."""
    request = CallValues.of([delta(0, list(range(100)), [1.0] * 100)]).request
    early, late = (request[name]["items"][0]["items"][1]["shape"] for name in ("deltas", "late"))
    assert (early, late) == ([85], [15])


@pytest.mark.parametrize("count", [1, 16, 17, 100, 5000])
def test_a_change_is_split_into_early_and_late(count: int) -> None:
    """Up to sixteen elements, spread over the change, come late; together both parts are the change."""
    whole = Delta(3, torch.arange(count) * 2, torch.arange(count, dtype=torch.float32))
    early, late = split(whole)
    assert 1 <= len(late.indices) <= 16
    assert {early.argument, late.argument} == {3}
    both = sorted(zip([*early.indices.tolist(), *late.indices.tolist()], [*early.values, *late.values]))
    assert both == sorted(zip(whole.indices.tolist(), whole.values))
    assert int(late.indices[-1]) >= count // 2


def test_filling_the_cache_writes_twice_its_size() -> None:
    """Every byte of a buffer of twice the cache is written, each time; the persisting lines go first."""
    forgotten: list[int] = []
    flush = Flush(1000, CPU, lambda: forgotten.append(1))
    assert flush()
    assert flush._buffer is not None
    flush._buffer.zero_()
    assert flush()
    assert (len(flush._buffer), int(flush._buffer.sum()), len(forgotten)) == (2000, 2000, 2)


def test_a_cache_that_cannot_be_filled_is_tried_once() -> None:
    """Where there is no memory the answer is no, and a candidate's memory is not fought for at every call."""
    flush = Flush(1 << 60, CPU)
    tried = iter([1])

    def refuse(*_arguments: object, **_named: object) -> torch.Tensor:
        next(tried)
        raise torch.OutOfMemoryError("no room")

    flush._empty = refuse
    assert (flush(), flush()) == (False, False)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [(["48K", "2048K", "32M"], 32 << 20), ([], 32 << 20), (["nonsense", "512K"], 512 << 10)],
    ids=["levels", "not told", "unreadable"],
)
def test_the_last_cache(tmp_path: Path, sizes: list[str], expected: int) -> None:
    """The largest cache that the system tells of is the one to fill."""
    for place, size in enumerate(sizes):
        folder = tmp_path / f"index{place}"
        folder.mkdir()
        (folder / "size").write_text(f"{size}\n")
    assert last_cache(tmp_path) == expected


class Answering:
    """A peer whose calls are cold as told, and whose results need no comparison."""

    def __init__(self, cold: Sequence[bool]) -> None:
        self._cold = iter(cold)

    def call(self, *_arguments: object) -> tuple[TimedCall, None]:
        """The next call."""
        return TimedCall(ns=5, bracket=9, host_ns=0, mhz=0, held=False, cold=next(self._cold)), None


@pytest.mark.parametrize(("cold", "expected"), [([True, True], True), ([True, False], False)])
def test_a_block_is_cold_only_as_a_whole(cold: list[bool], expected: bool) -> None:
    """One warm call makes a block of calls that is not called cold."""
    judge = JudgeRank(0, torch.get_num_threads(), None)  # type: ignore[arg-type]
    judge._peers = {"candidate": Answering(cold)}  # type: ignore[dict-item]
    judge._inputs = SimpleNamespace(deltas=lambda *_: [], checked=lambda *_: False)  # type: ignore[assignment]
    block = {"side": "candidate", "first": 0, "calls": 2, "last": -1, "cold": True, "graph": False, "patience": 7}
    assert judge._block(block) == {"samples": [(5, 9, 0, 0, False)] * 2, "cold": expected, "exports": []}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (torch.zeros(1000, 2, dtype=torch.bfloat16), 16_000),
        ((torch.zeros(1000), {"x": torch.zeros(1000, dtype=torch.int64)}, 3), 48_000),
        (None, 0),
    ],
    ids=["tensor", "nested", "none"],
)
def test_large_results_may_take_their_time(value: object, expected: int) -> None:
    """What fetching a result may take grows with its bytes, so that a permuted view of a large tensor is no offence."""
    region = Region(shared_fd("result"))
    header, _end = pack(value, region)
    region.close()
    assert _copying_ns(header) == expected
    on_gpu = json.loads(json.dumps(header).replace('"cpu"', '"cuda"'))
    assert _copying_ns(on_gpu) == 0


class Taking(Answering):
    """A peer that notes the new values that each call brings into its inbox, and lets the judge draw meanwhile."""

    def __init__(self) -> None:
        super().__init__([True] * 3)
        self.seen: list[list[float]] = []
        self._inbox = Region(shared_fd("inbox"))

    def call(self, values: CallValues, how: Any, meanwhile: Callable[[], Any] | None) -> Any:  # type: ignore[override]
        """The next call."""
        values.packer.copy_into(self._inbox)
        told = [unpack(values.request[part], self._inbox) for part in ("deltas", "late")]
        self.seen.append([float(value) for part in told for _, _, drawn in part for value in drawn])
        sample, _nothing = super().call()
        return sample, meanwhile() if meanwhile else None


@pytest.mark.parametrize("spin_ns", [0, 1000], ids=["one after the other", "drawn ahead"])
def test_every_call_has_the_values_of_its_number(spin_ns: int) -> None:
    """Values that a judge with a core to spare draws while the call before runs are those of the next call, and no
    call's are drawn twice or in vain."""
    judge, taking, drawn = JudgeRank(0, 1, None, spin_ns), Taking(), []  # type: ignore[arg-type,var-annotated]
    judge._peers = {"candidate": taking}  # type: ignore[dict-item]

    def deltas(number: int, call: int) -> list[Delta]:
        drawn.append(call)
        return [delta(0, [0, 1], [float(number), float(call)])]

    judge._timed.number = 4
    judge._inputs = SimpleNamespace(deltas=deltas, checked=lambda *_: False)  # type: ignore[assignment]
    block = {"side": "candidate", "first": 7, "calls": 3, "last": -1, "cold": True, "graph": False, "patience": 7}
    judge._block(block)
    assert taking.seen == [[4.0, 7.0], [4.0, 8.0], [4.0, 9.0]]
    assert drawn == [7, 8, 9]


def test_the_judge_works_while_a_call_runs() -> None:
    """What is to be done meanwhile begins when the rank has its request, and the bracket around the call holds it."""
    ours, theirs = socket.socketpair()
    fds = [shared_fd("inbox"), shared_fd("outbox")]
    peer, rank = Peer(Channel(ours.detach()), Region(fds[0]), Region(fds[1])), Channel(theirs.detach())

    def meanwhile() -> Any:
        request = rank.receive()
        rank.send(GOOD_REPLY)
        return request

    call, request = peer.call(NEW_VALUES, HOW, meanwhile)
    assert (call.ns, request["op"], request["patience"]) == (5, "call", 7)
    peer.close()
    rank.close()


NEW_VALUES = CallValues.of([delta(0, [0], [1.0])])
HOW = {"cold": True, "graph": False, "patience": 7}
GOOD_REPLY = {"ns": 5, "host_ns": 4, "mhz": 1980, "held": False, "cold": True}


def answered(reply: dict[str, Any]) -> Any:
    """What a judge makes of a candidate rank's answer to a timed call."""
    ours, theirs = socket.socketpair()
    fds = [shared_fd("inbox"), shared_fd("outbox")]
    peer = Peer(Channel(ours.detach()), Region(fds[0]), Region(fds[1]))
    rank = Channel(theirs.detach())
    rank.send(reply)
    try:
        return peer.call(NEW_VALUES, HOW)[0], rank.receive()
    finally:
        peer.close()
        rank.close()


def test_an_honest_answer_is_taken() -> None:
    """A timed call's claims arrive beside the judge's own bracket, and the rank got both parts of its new values."""
    call, request = answered(GOOD_REPLY)
    assert (call.row[0], call.row[2:], call.cold) == (5, (4, 1980, False), True)
    assert call.bracket > 0
    assert {"deltas", "late"} <= request.keys()
    assert (request["cold"], request["patience"]) == (True, 7)


@pytest.mark.parametrize(
    "bad",
    [
        {"host_ns": -1}, {"host_ns": 1 << 62}, {"host_ns": 1.5}, {"host_ns": True}, {"mhz": 10_000}, {"mhz": -1},
        {"mhz": "1980"}, {"mhz": None}, {"held": 1}, {"held": "no"}, {"cold": None}, {"cold": 0}, {"ns": []},
        {"most_mhz": 1e9},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_claims_that_cannot_be_are_refused(bad: dict[str, Any]) -> None:
    """A number out of its range, or of another kind, is a malformed answer."""
    with pytest.raises(PeerFailed, match="malformed answer"):
        answered({**GOOD_REPLY, **bad})


def test_a_launch_longer_than_the_judge_waited_is_refused() -> None:
    """A rank cannot have needed longer until its call returned than the judge waited for all of it."""
    with pytest.raises(PeerFailed, match="malformed answer"):
        answered({**GOOD_REPLY, "host_ns": 1 << 60})


@pytest.mark.parametrize(("late_ns", "expected"), [(40_000, 1_500_000), (60_000, 1_560_000)], ids=["idle", "busy"])
def test_work_that_outlasts_the_call_is_added(monkeypatch: pytest.MonkeyPatch, late_ns: int, expected: int) -> None:
    """Where the GPU is busy after the call's own stream has ended, by more than a look at it takes, that counts too."""
    found = device.CudaDevice()
    found._wait_for_end, found._between_ms = (lambda: None), partial(float, 1.5)
    monkeypatch.setattr(device, "_synchronize", lambda: None)
    monkeypatch.setattr(device, "_clock", iter([1000, 1000 + late_ns]).__next__)
    assert found.elapsed() == expected


@pytest.mark.parametrize(("graph", "expected"), [(True, "replay"), (False, "plain")])
def test_a_graph_is_replayed_only_where_all_have_one(
    monkeypatch: pytest.MonkeyPatch, graph: bool, expected: str
) -> None:
    """A rank that captured its call makes plain ones all the same where another rank or side could not."""
    rank = object.__new__(candidate.CandidateRank)
    rank._timer = Recorder(holds=True).timer(monkeypatch)
    rank._arguments, rank._solution = Arguments((), (), CPU), lambda: "plain"
    rank._captured = lambda: "replay"  # type: ignore[assignment]
    rank._inbox = Region(shared_fd("inbox"))
    header, _end = pack([], rank._inbox)
    assert rank._made({"late": header, "graph": graph, "cold": False, "patience": 0})[0] == expected
    rank._inbox.close()


@pytest.mark.parametrize("name", GOOD_REPLY)
def test_claims_that_are_missing_are_refused(name: str) -> None:
    """A timed call's answer has all of its parts."""
    with pytest.raises(PeerFailed, match="malformed answer"):
        answered({key: value for key, value in GOOD_REPLY.items() if key != name})


def test_slots_hold_what_ranks_and_devices_say() -> None:
    """A slot's numbers are one rank's own, seen by processes that were forked from this one."""
    from workbench.ranks.shared import Field

    slots = Slots(3)
    child = os.fork()
    if child == 0:
        slots.put(2, Field.QUEUED, 7)
        os._exit(0)
    os.waitpid(child, 0)
    assert [slots.get(rank, Field.QUEUED) for rank in range(3)] == [0, 0, 7]
    assert slots.get(2, Field.ARRIVED) == 0
