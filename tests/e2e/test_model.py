"""A language model as the pair, in a real terminal: the real litellm, against a server with a script."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e import candidates
from tests.e2e.conftest import Start
from tests.e2e.processes import Process, arguments, left_of
from tests.e2e.sitting import Sitting
from tests.llm.server import KEY, RATE_LIMITED, WRONG_KEY, Reply, Server, fenced, serving

MODEL, EDITOR = "0 Model", "1_allreduce_pytorch.py"
GOOD = candidates.good("from the model")
PER_TOKEN = 1024
"""Bytes that a streamed token may cost."""
SLOW = Reply(fenced(GOOD * 3, before="Let me think about the ring. " * 5), piece=4, pause=0.02)
"""A long reply, one token after the other."""


@pytest.fixture
def server() -> Iterator[Server]:
    """The provider; a test gives it its replies."""
    with serving("No.") as found:
        yield found


@pytest.fixture
def pair(start: Start, server: Server) -> Sitting:
    """A sitting with a model, on its pane, when the process that asks models is ready."""
    arguments = ("--model", "openai/fake", "--api-base", server.url)
    sitting = start(None, *arguments, OPENAI_API_KEY=KEY).ready()
    sitting.go("0")
    sitting.until("openai/fake · ready")
    return sitting


def kept(folder: Path) -> list[tuple[str, str, int, int, int]]:
    """Status, model, tokens in and out, and length of the prompt's hash, of each attempt that a model proposed."""
    query = """SELECT attempts.status, attempts.model, tokens_in, tokens_out, length(prompt)
        FROM attempts JOIN proposals ON attempts.proposal = proposals.id"""
    found = next((folder / "state").glob("*.sqlite3"))
    with closing(sqlite3.connect(found)) as db:
        return db.execute(query).fetchall()


def asking_of(sitting: Sitting) -> set[Process]:
    """The processes that ask models."""
    return {one for one in sitting.look() if any("llm.proposer" in word for word in arguments(one.pid))}


def test_propose_stream_diff_try_accept(pair: Sitting, server: Server) -> None:
    """A reply is read while it comes; its code is compared, tried without touching the file, accepted, saved."""
    before = pair.path.read_text()
    server.script(Reply(fenced(GOOD, before="One all-reduce will do."), piece=30, wait_after=1), fenced(GOOD))
    pair.press("p")
    pair.wait(server.waiting.is_set)
    pair.sees(MODEL, "One all-reduce will do", "c cancels")
    server.go.set()
    pair.sees(MODEL, "a file of", "1 000 + 500 tokens", "not tried")
    pair.press("d")
    pair.sees("of openai/fake", "# from the model")
    pair.press("t")
    pair.sees("of openai/fake", "✓ ok")
    assert pair.path.read_text() == before
    pair.press("a")
    pair.sees(EDITOR, "# from the model")
    pair.until("not saved")
    assert pair.path.read_text() == before
    pair.press("save")
    pair.wait(lambda: pair.path.read_text() == GOOD)

    pair.go("7", lambda: len(pair.attempts) >= 3)
    assert kept(pair.folder) == [("ok", "openai/fake", 1000, 500, 64)] * 2  # tried, then accepted and saved


def test_cancel_and_ask_again(pair: Sitting, server: Server) -> None:
    """A reply is cancelled while it comes, and the next request is answered."""
    server.script(Reply(fenced(GOOD), wait_after=2), fenced(GOOD))
    pair.press("p")
    pair.wait(server.waiting.is_set)
    pair.press("c")
    pair.sees(MODEL, "■ cancelled")
    pair.wait(server.gone.is_set)
    pair.press("p")

    pair.sees(MODEL, "a file of")


def test_trouble_is_told(pair: Sitting, server: Server) -> None:
    """A refused key, a rate limit and a reply without code are told with what to do; the key is not on screen."""
    server.script(WRONG_KEY, "I would rather not.", RATE_LIMITED, fenced(GOOD))
    pair.press("p")
    pair.sees(MODEL, "the key was refused", "OPENAI_API_KEY")
    pair.press("p")
    pair.sees(MODEL, "no block of code")
    pair.press("p")
    pair.sees(MODEL, "a file of")

    assert KEY not in pair.text


def test_reply_steers_no_terminal(pair: Sitting, server: Server) -> None:
    """Escape sequences in a reply reach the terminal neither from the pane, nor from the diff, nor from the editor."""
    hostile = f"# \x1b]52;c;b3duZWQ=\x07\x1b]0;owned\x07\x1b[2J\n{GOOD}"
    server.script(fenced(hostile, before="\x1b]0;owned\x07\x1b[2J"))
    pair.press("p")
    pair.sees(MODEL, "a file of", "not tried")
    pair.press("d")
    pair.sees("of openai/fake", "␛]52;c;b3duZWQ=␇")
    pair.press("a")
    pair.sees(EDITOR, "␛]52;c;b3duZWQ=␇")
    pair.press("save")
    pair.wait(lambda: pair.path.read_text() == hostile)

    assert not any(sequence in pair.raw for sequence in (b"\x1b]52", b"\x1b]0;owned", b"\x1b[2J"))


def test_another_problem(pair: Sitting, server: Server) -> None:
    """Another problem is opened and asked about without loading litellm again."""
    server.script(fenced(GOOD))
    (asking,) = asking_of(pair)
    pair.press("problems")
    pair.choose("broadcast", "3_broadcast")
    pair.go("0")
    pair.sees(MODEL, "openai/fake · ready")
    pair.press("p")
    pair.sees(MODEL, "a file of")

    assert asking_of(pair) == {asking}


@pytest.mark.parametrize("whole_screen", [False, True])
def test_bytes_while_streaming(pair: Sitting, server: Server, whole_screen: bool) -> None:
    """A streamed token costs at most 1 KB, also where the pane has the whole screen."""
    server.script(SLOW)
    if whole_screen:
        pair.press("\x1b[15~")
    pair.quiet()
    before = pair.received
    pair.press("p")
    pair.until("a file of")
    pair.quiet()

    assert pair.received - before <= PER_TOKEN * (len(SLOW.text) // SLOW.piece)


def test_typing_while_streaming(pair: Sitting, server: Server) -> None:
    """Text is typed and saved while a reply comes, and the reply goes on then."""
    server.script(Reply(fenced(GOOD), wait_after=2))
    pair.press("p")
    pair.wait(server.waiting.is_set)
    pair.go("4")
    pair.type_at_top("# typed meanwhile")
    pair.press("save")
    pair.wait(lambda: pair.path.read_text().startswith("# typed meanwhile"))
    assert "c cancels" in pair.pane(MODEL)
    server.go.set()

    pair.sees(MODEL, "a file of")


def test_nothing_is_left(pair: Sitting, server: Server) -> None:
    """When pkwb is killed while a reply comes, the process that asks models ends, and the provider sees it leave."""
    server.script(Reply(fenced(GOOD), wait_after=2))
    pair.press("p")
    pair.wait(server.waiting.is_set)
    pair.look()
    pair.process.kill()
    pair.wait(server.gone.is_set)

    pair.wait(lambda: not left_of(pair.known))
