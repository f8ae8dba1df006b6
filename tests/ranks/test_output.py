"""What a rank prints: nothing is lost up to the cap, the rest is counted, and no character is torn."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from workbench.ranks.output import CAP, OutputPump


class Pipe:
    """A rank's end of a pipe, and the pump at the other."""

    def __init__(self) -> None:
        reading, self.writing = os.pipe()
        os.set_blocking(reading, False)
        self.reading = reading
        self.pump = OutputPump(reading, 3, 1, "stdout")

    def write(self, data: bytes) -> None:
        """Write as a rank does, with the pump reading along, since a pipe holds 64 KiB."""
        for start in range(0, len(data), 1 << 15):
            os.write(self.writing, data[start : start + (1 << 15)])
            assert self.pump.read()

    def end(self) -> None:
        os.close(self.writing)
        self.writing = -1


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """A pipe with its pump."""
    made = Pipe()
    yield made
    os.close(made.reading)
    if made.writing >= 0:
        os.close(made.writing)


def text_of(message: dict[str, object] | None) -> str:
    return str(message["text"]) if message else ""


def test_output_is_passed_on_with_its_origin(pipe: Pipe) -> None:
    """A log report names set, rank and stream beside the text."""
    pipe.write(b"hello\n")
    assert pipe.pump.flush() == {"event": "log", "set": 3, "rank": 1, "stream": "stdout", "text": "hello\n"}
    assert pipe.pump.flush() is None


def test_waiting_output_is_known(pipe: Pipe) -> None:
    """The loop is told when there is something to pass on later, so that it does not sleep over it."""
    pending = [pipe.pump.pending]
    pipe.write(b"hello\n")
    pending.append(pipe.pump.pending)
    pipe.pump.flush()
    pending.append(pipe.pump.pending)
    assert pending == [False, True, False]


def test_an_idle_pipe_has_nothing_to_say(pipe: Pipe) -> None:
    """Reading an empty pipe is no end, and there is no empty report."""
    assert pipe.pump.read()
    assert not pipe.pump.read(once=True)
    assert pipe.pump.due() is None
    assert pipe.pump.flush(final=True) is None


def test_the_end_is_noticed_after_the_last_words(pipe: Pipe) -> None:
    """Output written just before a rank dies is still there when the pipe ends."""
    pipe.write(b"last words")
    pipe.end()
    assert not pipe.pump.read()
    assert text_of(pipe.pump.flush(final=True)) == "last words"


def test_output_comes_in_pieces_that_add_up(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chatty rank is reported from time to time, in few pieces, and nothing is missing."""
    now = [100.0]
    monkeypatch.setattr("workbench.ranks.output.time", SimpleNamespace(monotonic=lambda: now[0]))
    pieces = []
    for number in range(100):
        pipe.write(f"line {number}\n".encode())
        now[0] += 0.01
        pieces.append(text_of(pipe.pump.due()))
    pieces.append(text_of(pipe.pump.flush(final=True)))
    assert "".join(pieces) == "".join(f"line {number}\n" for number in range(100))
    assert 10 <= sum(1 for piece in pieces if piece) <= 25


def test_characters_are_not_torn_between_pieces(pipe: Pipe) -> None:
    """A character whose bytes come in two pieces is shown once and whole."""
    data = "größe → 42\n".encode()
    pieces = []
    for byte in data:
        pipe.write(bytes([byte]))
        pieces.append(text_of(pipe.pump.flush()))
    pieces.append(text_of(pipe.pump.flush(final=True)))
    assert "".join(pieces) == "größe → 42\n"


def test_bytes_that_are_no_text_are_shown_as_such(pipe: Pipe) -> None:
    """Binary output is replaced character by character, the text around it stays; a torn end is shown too."""
    pipe.write(b"ok \xff\xfe ok \xe2\x86")
    assert text_of(pipe.pump.flush(final=True)) == "ok �� ok �"


def test_output_beyond_the_cap_is_dropped_and_said(pipe: Pipe) -> None:
    """Of a flood the first mebibyte is shown, then that the rest is dropped and, at the end, how much it was."""
    pipe.write(b"x" * (CAP + 12_345))
    pipe.end()
    assert not pipe.pump.read()
    text = text_of(pipe.pump.flush(final=True))
    assert text[:CAP] == "x" * CAP
    first, last = text[CAP:].strip().splitlines()
    assert f"is dropped (limit {CAP} bytes)" in first
    assert last == "... 12345 bytes were dropped"


def test_a_flood_is_said_to_be_dropped_while_it_lasts(pipe: Pipe) -> None:
    """The cap counts all pieces of a stream together, and the user hears of it once, long before the rank ends."""
    pieces = []
    for _ in range(10):
        pipe.write(b"y" * (CAP // 4))
        pieces.append(text_of(pipe.pump.flush()))
    text = "".join(pieces)
    assert text[:CAP] == "y" * CAP
    assert text.count("is dropped") == 1
    assert pieces[-1] == ""
    assert text_of(pipe.pump.flush(final=True)) == f"... {10 * (CAP // 4) - CAP} bytes were dropped\n"


def test_a_flood_is_taken_in_turns(pipe: Pipe) -> None:
    """One look at a pipe takes a bounded amount, so that a rank that prints without end does not hold up the others."""
    os.set_blocking(pipe.writing, False)
    written = 0
    while written < 1 << 16:
        try:
            written += os.write(pipe.writing, b"z" * 4096)
        except BlockingIOError:
            break
    assert pipe.pump.read(once=True)
    assert not pipe.pump.read(once=True)
    assert len(text_of(pipe.pump.flush())) == written
