"""One conversation: what is sent, what counts as progress, what is left out when it becomes too long."""

from __future__ import annotations

from workbench.events import Ratio
from workbench.llm.talk import Talk

START = [{"role": "system", "content": "rules"}, {"role": "user", "content": "task"}]


def ratio(median: float) -> Ratio:
    """A narrow interval."""
    return Ratio(median=median, low=median - 0.01, high=median + 0.01)


def said(talk: Talk) -> list[str]:
    """Contents of all that would be sent."""
    return [message["content"] for message in talk.messages()]


def test_messages_alternate() -> None:
    """Task, reply, feedback, reply: each request holds everything before it and ends with the user's turn."""
    talk = Talk(1, START)
    assert said(talk) == ["rules", "task"]
    talk.replied("first")
    talk.waiting.append("wrong")
    assert said(talk) == ["rules", "task", "first", "wrong"]
    assert [message["role"] for message in talk.messages()] == ["system", "user", "assistant", "user"]


def test_remark_goes_with_the_first_request() -> None:
    """A remark made before the first request is part of the task's message."""
    talk = Talk(1, START, waiting=["A remark of the user: use TMA"])
    assert said(talk) == ["rules", "task\n\nA remark of the user: use TMA"]


def test_progress_and_stall() -> None:
    """A nearer ending or a faster right version is progress; anything else counts towards the stall."""
    talk = Talk(1, START)
    stalled = []
    for place, (status, speedup) in enumerate(
        [("build-error", None), ("wrong", None), ("wrong", None), ("ok", ratio(0.5)), ("ok", ratio(0.501)),
         ("crash", None), ("ok", ratio(0.9))]
    ):  # fmt: skip
        talk.replied(str(place))
        talk.judged(status, speedup, str(place), place)
        stalled.append(talk.stalled)
    assert stalled == [0, 0, 1, 0, 1, 2, 0]
    assert (talk.best, talk.best_step, talk.best_proposal) == (ratio(0.9), 7, 6)


def test_what_has_no_interval_is_behind_what_has_one() -> None:
    """Where too few calls were timed for an interval, medians decide, but one with an interval is before them all."""
    talk = Talk(1, START)
    best = []
    for place, speedup in enumerate([Ratio(median=2.0), Ratio(median=3.0), Ratio(median=2.5), ratio(1.1)]):
        talk.replied(str(place))
        talk.judged("ok", speedup, str(place), place)
        best.append(talk.best_proposal)
    assert best == [0, 1, 1, 3]


def test_long_conversation_keeps_task_best_and_newest() -> None:
    """When a conversation is too long the task, the best version and the newest exchange stay, in turn."""
    talk = Talk(1, START)
    for place, speedup in enumerate([0.5, 0.9, 0.6, 0.7]):
        talk.replied(f"reply {place}")
        talk.judged("ok", ratio(speedup), str(place), place)
        talk.waiting.append(f"told {place}")
    assert talk.shorten()
    assert said(talk) == ["rules", "task\n\ntold 0", "reply 1", "told 2", "reply 3", "told 3"]
    assert [message["role"] for message in talk.messages()][1:] == ["user", "assistant"] * 2 + ["user"]
    assert not Talk(1, START).shorten()


def test_best_is_the_surest() -> None:
    """Of noisy speedups the one with the highest lower end is the best, not the one with the luckiest median."""
    talk = Talk(1, START)
    for place, speedup in enumerate([ratio(1.2), Ratio(median=4.2, low=0.3, high=8.2)]):
        talk.replied(str(place))
        talk.judged("ok", speedup, str(place), place)
    assert (talk.best_step, talk.stalled) == (1, 1)
