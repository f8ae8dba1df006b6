"""One exchange with a model as lines: what was sent, the reply as far as it has come, what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from textual.content import Content

from widgets import format as fmt
from widgets.conversation import Conversation, Exchange, Tried
from widgets.layout import wrapped
from widgets.plain import plain, plain_lines
from widgets.words import status_text
from workbench.events import ProposalFinished

_OUTCOMES = {"no-code": "no code", "cut-off": "cut off", "cancelled": "cancelled", "error": "no reply"}


def exchange_lines(talk: Conversation, one: Exchange, width: int, unfolded: bool) -> Iterator[Content]:
    """Its lines at this width in cells; ``unfolded`` shows what was sent."""
    yield _head(talk, one)
    yield from _sent(one, width, unfolded)
    if one.thinking:
        yield Content.styled(f"  thought {fmt.count(one.thinking)} characters", "dim")
    if one.reply:
        yield from _reply(one.reply, width) if one.finished is not None else _coming(one.reply, width)
    yield from _ending(talk, one, width)


def _head(talk: Conversation, one: Exchange) -> Content:
    here = " · chosen" if one.number == talk.chosen else ""
    return Content.styled(f"── #{one.number} {plain(one.model)}{here} ", "bold" if here else "dim bold")


def _sent(one: Exchange, width: int, unfolded: bool) -> Iterator[Content]:
    mark, key = ("▾", "folds") if unfolded else ("▸", "shows")
    facts = f"{mark} sent {fmt.count(len(one.sent))} characters, prompt {one.prompt[:8]} (s {key} it)"
    yield Content.styled(facts, "dim")
    if unfolded:
        for line in plain_lines(one.sent):
            yield from (Content.styled("  | ", "dim") + part for part in wrapped(line, width - 4))


@lru_cache(256)
def _reply(reply: str, width: int) -> tuple[Content, ...]:
    """The lines of a reply that is over; those of a long conversation are needed again with each piece of the next."""
    return tuple(_coming(reply, width))


def _coming(reply: str, width: int) -> Iterator[Content]:
    for line in reply.split("\n"):
        yield from _reply_line(line, width)


@lru_cache(1 << 15)
def _reply_line(line: str, width: int) -> tuple[Content, ...]:
    """The lines of a streamed reply that have come do not change any more."""
    return tuple(wrapped(plain(line), width))


def _ending(talk: Conversation, one: Exchange, width: int) -> Iterator[Content]:
    if one.waiting is not None:
        words = f"! asked to wait {one.waiting.seconds:.0f} s: {plain(one.waiting.reason)}"
        yield from wrapped(Content.styled(words, "$text-warning"), width, 2)
    elif one.finished is None:
        yield Content.styled("… c cancels" if one.reply else "… waiting for the first token, c cancels", "dim")
    else:
        yield from _finished(talk, one, one.finished, width)


def _finished(talk: Conversation, one: Exchange, came: ProposalFinished, width: int) -> Iterator[Content]:
    if came.outcome == "code":
        parts = [Content.styled(f"+ a file of {came.code.count(chr(10))} lines", "bold"), Content(_figures(came))]
    else:
        reason = f": {plain(came.reason)}" if came.reason and came.outcome != "cancelled" else ""
        sign = "■" if came.outcome == "cancelled" else "✗"
        words = Content.styled(f"{sign} {_OUTCOMES[came.outcome]}{reason}", "$text-warning")
        parts = [words, Content(_figures(came))]
    yield from wrapped(Content(" · ").join(part for part in parts if part.plain), width, 2)
    if came.code:
        worth = [worth_text(talk.worth(came.code))]
        worth += [Content("edited by you: ") + worth_text(talk.worth(one.edited))] if one.edited else []
        decision = [Content.styled(one.decision, "bold")] if one.decision else []
        yield from wrapped(Content("  ") + Content(" · ").join([*worth, *decision]), width, 2)


def _figures(came: ProposalFinished) -> str:
    """Tokens, cost and time, as far as there are any."""
    if not came.tokens_in and not came.tokens_out:
        return ""
    cost = "price not known" if came.cost_usd is None else f"${came.cost_usd:.4f}"
    first = f", first token {came.first_token_s:.1f} s" if came.first_token_s is not None else ""
    tokens = f"{fmt.count(came.tokens_in)} + {fmt.count(came.tokens_out)} tokens"
    return f"{tokens} · {cost} · {came.seconds:.1f} s{first}"


def worth_text(tried: Tried | None) -> Content:
    """What a proposal is worth: its verdict, that it is being judged, or that it was not tried."""
    if tried is None:
        return Content.styled("· not tried", "dim")
    if tried.verdict is None:
        return Content(f"› being judged as #{tried.attempt}")
    verdict = tried.verdict
    speed = f" {fmt.interval(verdict.speedup)}" if verdict.speedup else ""
    reason = f": {plain(verdict.reason)}" if verdict.reason and verdict.status != "ok" else ""
    return status_text(verdict.status) + Content(f"{speed}{reason} (#{tried.attempt})")
