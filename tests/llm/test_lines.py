"""What is told of a model on the command line while it works."""

from __future__ import annotations

import pytest

from workbench.events import (
    Event,
    ProposalFinished,
    ProposalStarted,
    ProposalWaiting,
    ProposerChanged,
    Ratio,
    SolveStep,
    to_json,
)
from workbench.report import progress_lines

RATIO = Ratio(median=1.34, low=1.31, high=1.36)
TOLD: list[tuple[Event, str]] = [
    (ProposerChanged(state="loading"), "the process that asks models is loading"),
    (ProposerChanged(state="ready", elapsed_s=4.25), "the process that asks models is ready after 4.2 s"),
    (ProposerChanged(state="gone", detail="killed"), "the process that asks models is gone: killed"),
    (
        ProposalStarted(proposal=1, model="m", sent="x" * 1234, prompt="d"),
        "asking m: 1,234 characters are new to it",
    ),
    (ProposalWaiting(proposal=1, seconds=8.0, reason="rate limit"), "asking again in 8 s: rate limit"),
    (
        ProposalFinished(
            proposal=1, model="m", outcome="cut-off", reason="it ends", tokens_in=1000, tokens_out=50, cost_usd=0.01,
            seconds=2.5,
        ),
        "cut-off after 2.5 s, 1,000 tokens in, 50 out, $0.0100: it ends",
    ),
    (
        SolveStep(
            run="r", sample=1, step=3, steps=20, status="ok", speedup=RATIO, label="custom", best=RATIO, best_sample=1,
            best_step=3, spent_usd=0.5,
        ),
        "sample 1, proposal 3 of 20: ok 1.34x [1.31, 1.36], custom; best 1.34x (proposal 3); $0.50 spent",
    ),
    (
        SolveStep(run="r", sample=1, step=1, steps=20, status="ok", doubt="messages of the source did not run"),
        "sample 1, proposal 1 of 20: ok, no data movement found (messages of the source did not run); $0.00 spent",
    ),
    (
        SolveStep(run="r", sample=1, step=1, steps=20, status="no-code"),
        "sample 1, proposal 1 of 20: no-code; $0.00 spent",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("event", "line"), TOLD)
def test_one_line_an_event(event: Event, line: str) -> None:
    """Each event of a model is one line for people, and one line of JSON."""
    assert progress_lines(event) == [line]
    assert "\n" not in to_json(event)


def test_escape_sequences_of_a_model_are_not_printed() -> None:
    """What a provider or model sends reaches the terminal as plain text."""
    event = ProposalFinished(proposal=1, model="m", outcome="error", reason="\x1b[2Jgone\nnew line")
    (line,) = progress_lines(event)
    assert line.endswith("gone new line")
    assert "\x1b" not in line
