"""From events of a model to what the pane knows."""

from __future__ import annotations

from dataclasses import replace

from tests.widgets import script
from tests.widgets.model_script import CODE, conversation, delta, finished, started
from widgets.conversation import KEEP, Conversation
from widgets.state import RunView, reduce
from workbench.events import Event, ProposalWaiting, SolveFinished, SourceSeen
from workbench.source import make_source

DIGEST = make_source(script.make_target().path, CODE).digest


def after(*events: Event) -> Conversation:
    """What is known after events."""
    view = RunView()
    for event in events:
        view = reduce(view, event)
    return view.talk


def tried(attempt: int = 7) -> SourceSeen:
    """The proposal is judged."""
    return SourceSeen(attempt=attempt, path=script.PATH, digest=DIGEST, changed=True, origin="model")


def test_pieces_are_put_together() -> None:
    """Pieces of a reply make one text; thoughts are counted and are no part of it."""
    talk = after(started(), delta("let me see", thinking=True), delta("He"), delta("llo"))

    assert (talk.exchanges[0].reply, talk.exchanges[0].thinking) == ("Hello", 10)
    assert talk.streaming


def test_waiting_ends_with_the_next_piece() -> None:
    """A rate limit is shown as long as nothing comes."""
    waiting = ProposalWaiting(proposal=1, seconds=7.0, reason="rate limit")

    assert after(started(), waiting).exchanges[0].waiting == waiting
    assert after(started(), waiting, delta("Here")).exchanges[0].waiting is None


def test_verdict_finds_its_proposal() -> None:
    """The verdict of an attempt belongs to the text that was judged, not to the newest proposal."""
    other = finished(2, code=CODE + "# other\n")
    verdict = script.verdict(7, "wrong", "rank 1 is off", (), None)
    talk = after(started(), finished(), started(2), other, tried(), verdict)

    worth = talk.worth(CODE)
    assert worth is not None
    assert worth.verdict == verdict
    assert talk.worth(other.code) is None


def test_own_save_is_no_trial() -> None:
    """The same text saved by the user is the user's attempt."""
    saved = replace(tried(), origin="disk")

    assert after(started(), finished(), saved).worth(CODE) is None


def test_proposals_are_stepped_through() -> None:
    """The newest proposal is looked at first; earlier ones can be chosen, replies without code are passed over."""
    talk = after(started(), finished(), started(2), finished(2, code=""), started(3), finished(3, code=CODE + "#\n"))

    assert talk.chosen == 3
    assert talk.stepped(-1).chosen == 1
    assert talk.stepped(-1).stepped(-1).chosen == 1
    assert talk.stepped(1).chosen == 3


def test_best_of_the_agent_loop_is_chosen() -> None:
    """When the agent loop has ended its best proposal is the one to look at."""
    ended = next(event for event in conversation() if isinstance(event, SolveFinished))
    talk = after(started(), finished(), started(2), finished(2, code=CODE + "#\n"), replace(ended, best_digest=DIGEST))

    assert talk.chosen == 1


def test_spending_outlives_exchanges() -> None:
    """Cost and tokens are of everything that was asked, also of what is no longer shown or was begun anew."""
    events = [event for number in range(1, KEEP + 3) for event in (started(number), finished(number))]
    talk = after(*events)

    assert len(talk.exchanges) == KEEP
    assert talk.tokens == 1500 * (KEEP + 2)
    assert talk.anew().spent_usd == talk.spent_usd > 0
    assert not talk.anew().exchanges


def test_pieces_without_a_start() -> None:
    """Pieces of a request that is not known change nothing."""
    assert after(delta("late"), finished(4)) == Conversation()


def test_cost_of_a_cancelled_request_comes_later() -> None:
    """A reply that was cancelled is told at once, and what it has cost counts when the process says so."""
    cancelled = finished(code="", outcome="cancelled", tokens_in=0, tokens_out=0, cost_usd=0.0)
    billed = finished(code="", outcome="cancelled", tokens_in=1000, tokens_out=20, cost_usd=0.5)
    talk = after(started(), delta("He"), cancelled, billed)

    assert (talk.spent_usd, talk.tokens, talk.streaming) == (0.5, 1020, False)
