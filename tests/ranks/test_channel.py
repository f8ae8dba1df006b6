"""Messages between processes: framed JSON with descriptors beside it, between blocking ranks and the asyncio parent."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import ChannelError
from workbench.flow.wire import Wire
from workbench.ranks.channel import HEADER, LIMIT, Channel, Message, decode, encode


@pytest.fixture(params=[0, 1_000_000], ids=["sleeps", "looks first"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[Channel, socket.socket]]:
    """A channel, and the plain socket at its other end."""
    near, far = socket.socketpair()
    far.settimeout(20)
    channel = Channel(near.detach(), takes_fds=True, spin_ns=request.param)
    yield channel, far
    channel.close()
    far.close()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(message=st.dictionaries(st.text(), values, max_size=5))
@settings(deadline=None)
def test_any_object_survives_its_frame(message: Message) -> None:
    """What JSON can hold arrives as it was sent, any text included."""
    frame = encode(message)
    assert HEADER.unpack(frame[: HEADER.size]) == (len(frame) - HEADER.size,)
    assert decode(frame[HEADER.size :]) == message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"not json", "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b"", "not JSON"),
        (b'{"a": 1} {}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a":' * 100_000, "not JSON"),
        (b'{"n": ' + b"9" * 10_000 + b"}", "not JSON"),
        (b"[1, 2]", "not an object"),
        (b"null", "not an object"),
        (b'"text"', "not an object"),
    ],
    ids=["word", "bytes", "empty", "two", "deep list", "deep object", "huge number", "list", "null", "text"],
)
def test_bodies_that_are_no_message_are_refused(body: bytes, words: str) -> None:
    """Garbage from a rank is one kind of error, whatever the garbage is."""
    with pytest.raises(ChannelError, match=words):
        decode(body)


@given(body=st.binary(max_size=60))
@settings(deadline=None)
def test_random_bytes_are_an_object_or_an_error(body: bytes) -> None:
    """No bytes at all make the reader fail in another way."""
    try:
        message = decode(body)
    except ChannelError:
        return
    assert isinstance(message, dict)


def send_bytewise(sock: socket.socket, data: bytes) -> None:
    for byte in data:
        sock.sendall(bytes([byte]))


def test_messages_keep_their_order_and_borders(ends: tuple[Channel, socket.socket]) -> None:
    """Two messages in one write arrive as two, one message in single bytes arrives as one."""
    channel, far = ends
    far.sendall(encode({"n": 1}) + encode({"n": 2}))
    slow = threading.Thread(target=send_bytewise, args=(far, encode({"n": 3})))
    slow.start()
    assert [channel.receive() for _ in range(3)] == [{"n": 1}, {"n": 2}, {"n": 3}]
    slow.join()


def test_descriptors_arrive_beside_their_message(ends: tuple[Channel, socket.socket], tmp_path: Path) -> None:
    """Files sent with a message can be read by the receiver, in their order; the next message has none."""
    channel, far = ends
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    files = [os.open(tmp_path / name, os.O_RDONLY) for name in ("one", "two")]
    socket.send_fds(far, [encode({"op": "attach"})], files)
    far.sendall(encode({"op": "next"}))
    assert channel.receive() == {"op": "attach"}
    assert [os.read(fd, 10) for fd in channel.fds] == [b"one", b"two"]
    for fd in (*files, *channel.fds):
        os.close(fd)
    assert channel.receive() == {"op": "next"}
    assert channel.fds == []


def test_descriptors_that_nobody_expects_are_not_kept() -> None:
    """A candidate that sends descriptors with its answers uses up none of its judge's."""
    near, far = socket.socketpair()
    judge = Channel(near.detach())
    with far, open(os.devnull, encoding="ascii") as file:
        before = len(os.listdir("/dev/fd"))
        for number in range(20):
            socket.send_fds(far, [encode({"n": number})], [file.fileno()] * 3)
            assert judge.receive() == {"n": number}
        assert (judge.fds, len(os.listdir("/dev/fd"))) == ([], before)
    judge.close()


@pytest.mark.parametrize("spin_ns", [0, 1_000, 60_000_000_000], ids=["sleeps", "gives up looking", "looks on"])
def test_a_message_that_comes_late_is_waited_for(spin_ns: int) -> None:
    """However long a channel looks for a message before it sleeps, it gets one that is sent while it waits."""
    near, far = socket.socketpair()
    channel = Channel(near.detach(), spin_ns=spin_ns)
    waits = threading.Event()

    def send() -> None:
        waits.wait(20)
        far.sendall(encode({"late": True}))

    sender = threading.Thread(target=send)
    sender.start()
    channel._socket = Watched(channel._socket, waits)  # type: ignore[assignment]
    assert channel.receive() == {"late": True}
    sender.join(20)
    channel.close()
    far.close()


class Watched:
    """A socket that tells when it is read for the first time."""

    def __init__(self, plain: socket.socket, read: threading.Event) -> None:
        self._plain, self._read = plain, read

    def recv(self, *arguments: int) -> bytes:
        """As the socket does it."""
        self._read.set()
        return self._plain.recv(*arguments)

    def close(self) -> None:
        """As the socket does it."""
        self._plain.close()


def test_too_long_a_message_is_refused_before_it_is_read(ends: tuple[Channel, socket.socket]) -> None:
    """A frame that announces more than the limit is an error at once; nothing waits for its bytes."""
    channel, far = ends
    far.sendall(HEADER.pack(LIMIT + 1))
    with pytest.raises(ChannelError, match="the limit is"):
        channel.receive()


@pytest.mark.parametrize("cut", [0, 2, 4, 9])
def test_the_end_of_the_stream_is_none(ends: tuple[Channel, socket.socket], cut: int) -> None:
    """A peer that goes away, also in the middle of a message, ends the stream without an error."""
    channel, far = ends
    far.sendall(encode({"n": 1}) + encode({"text": "cut off"})[:cut])
    far.close()
    assert channel.receive() == {"n": 1}
    assert channel.receive() is None


def test_sending_to_a_dead_peer_is_an_oserror(ends: tuple[Channel, socket.socket]) -> None:
    """A rank notices on sending that the other side is gone."""
    channel, far = ends
    far.close()
    with pytest.raises(OSError, match="pipe"):
        channel.send({"n": 1})


class Parent:
    """A wire of the parent with a channel in the role of the rank, and what arrived."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.reasons: list[str] = []
        self.changed = asyncio.Event()
        self.wire = Wire(self._message, self._closed)
        self.rank = Channel(os.dup(self.wire.far_end()), takes_fds=True)
        self.wire.release_far_end()

    def _message(self, message: Message) -> None:
        self.messages.append(message)
        self.changed.set()

    def _closed(self, reason: str) -> None:
        self.reasons.append(reason)
        self.changed.set()

    async def until(self, count: int, reasons: int = 0) -> None:
        """Wait until that many messages and reasons have come."""
        while len(self.messages) < count or len(self.reasons) < reasons:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 20)

    def close(self) -> None:
        self.wire.close()
        self.rank.close()


@pytest.fixture
async def parent() -> Any:
    """A parent with one rank."""
    made = Parent()
    yield made
    made.close()


async def test_wire_and_channel_exchange_messages(parent: Parent) -> None:
    """Both ends speak the same frames: requests to the rank and answers to the parent, in order."""
    for number in range(50):
        parent.wire.send({"id": number})
    got = await asyncio.to_thread(lambda: [parent.rank.receive() for _ in range(50)])
    assert got == [{"id": number} for number in range(50)]
    for number in range(50):
        parent.rank.send({"id": number})
    await parent.until(50)
    assert parent.messages == got


async def test_a_large_message_does_not_block_the_loop(parent: Parent) -> None:
    """A source of megabytes is queued: sending returns at once though the rank has read nothing yet."""
    text = "x" * (4 << 20)
    parent.wire.send({"text": text})
    parent.wire.send({"after": True})
    got = await asyncio.to_thread(lambda: [parent.rank.receive() for _ in range(2)])
    assert got == [{"text": text}, {"after": True}]


async def test_a_large_message_from_a_rank_arrives_whole(parent: Parent) -> None:
    """Megabytes from a rank are put together from the pieces in which they come."""
    message = {"text": "y" * (3 << 20)}
    sender = asyncio.create_task(asyncio.to_thread(parent.rank.send, message))
    await parent.until(1)
    await sender
    assert parent.messages == [message]


async def test_partial_frames_wait_for_their_rest(parent: Parent) -> None:
    """A frame in two halves is one message, delivered when its last byte is there."""
    frame = encode({"n": 1}) + encode({"n": 2})
    with socket.socket(fileno=os.dup(parent.rank.fileno())) as raw:
        raw.sendall(frame[:-3])
        await parent.until(1)
        assert parent.messages == [{"n": 1}]
        raw.sendall(frame[-3:])
    await parent.until(2)
    assert parent.messages == [{"n": 1}, {"n": 2}]


async def test_wire_sends_descriptors(parent: Parent, tmp_path: Path) -> None:
    """A descriptor sent by the parent opens the same file in the rank, although the parent closes its own at once."""
    (tmp_path / "file").write_text("shared")
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    parent.wire.send({"op": "attach"}, [fd])
    os.close(fd)
    assert await asyncio.to_thread(parent.rank.receive) == {"op": "attach"}
    (received,) = parent.rank.fds
    assert os.read(received, 10) == b"shared"
    os.close(received)


async def test_a_large_message_carries_its_descriptor(parent: Parent, tmp_path: Path) -> None:
    """A message that the socket takes in several parts still brings its descriptor, once."""
    (tmp_path / "file").write_text("shared")
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    text = "x" * (2 << 20)
    parent.wire.send({"text": text}, [fd])
    os.close(fd)
    assert await asyncio.to_thread(parent.rank.receive) == {"text": text}
    (received,) = parent.rank.fds
    assert os.read(received, 10) == b"shared"
    os.close(received)


async def test_descriptors_wait_with_their_message(parent: Parent, tmp_path: Path) -> None:
    """Behind a message that fills the socket, a later one still arrives with its own descriptor."""
    (tmp_path / "file").write_text("shared")
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    parent.wire.send({"text": "x" * (2 << 20)})
    parent.wire.send({"op": "attach"}, [fd])
    os.close(fd)
    await asyncio.to_thread(parent.rank.receive)
    assert parent.rank.fds == []
    assert await asyncio.to_thread(parent.rank.receive) == {"op": "attach"}
    (received,) = parent.rank.fds
    assert os.read(received, 10) == b"shared"
    os.close(received)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (HEADER.pack(LIMIT + 1), "the limit is"),
        (HEADER.pack(3) + b"[1]", "not an object"),
        (HEADER.pack(4) + b"junk", "not JSON"),
        (b"", "end of stream"),
        (encode({"n": 1})[:-1], "end of stream"),
    ],
    ids=["oversize", "no object", "no JSON", "closed", "cut off"],
)
async def test_wire_ends_once_with_a_reason(parent: Parent, sent: bytes, words: str) -> None:
    """A rank that sends garbage or goes away ends the wire once, with the reason."""
    with socket.socket(fileno=os.dup(parent.rank.fileno())) as raw:
        raw.sendall(sent)
    parent.rank.close()
    await parent.until(0, reasons=1)
    assert len(parent.reasons) == 1
    assert words in parent.reasons[0]
    parent.wire.send({"too": "late"})
    assert parent.messages == []


async def test_a_wire_reads_nothing_after_it_was_told_to_stop(parent: Parent) -> None:
    """What a rank sends after its last due message is not even taken from the socket; it can still be sent to."""
    parent.rank.send({"n": 1})
    parent.rank.send({"n": 2})
    parent.wire._on_message = lambda message: (parent._message(message), parent.wire.stop_reading())
    await parent.until(1)
    parent.rank.send({"n": 3})
    parent.wire.send({"still": "there"})
    assert await asyncio.to_thread(parent.rank.receive) == {"still": "there"}
    assert (parent.messages, parent.reasons) == ([{"n": 1}], [])


async def test_nothing_comes_after_close(parent: Parent) -> None:
    """A closed wire delivers neither messages nor an end, and its rank sees the end of the stream."""
    parent.rank.send({"n": 1})
    parent.wire.close()
    assert await asyncio.to_thread(parent.rank.receive) is None
    await asyncio.sleep(0)
    assert (parent.messages, parent.reasons) == ([], [])


async def test_wires_to_dead_ranks_leave_no_descriptors() -> None:
    """Sending files to a rank that died keeps nothing open once the wire is closed."""
    with open(os.devnull, encoding="ascii") as file:
        before = len(list(Path("/dev/fd").iterdir()))
        for _ in range(5):
            parent = Parent()
            parent.rank.close()
            for _ in range(3):
                parent.wire.send({"op": "attach"}, [file.fileno()])
            parent.close()
        assert len(list(Path("/dev/fd").iterdir())) == before


def test_frames_are_plain_json() -> None:
    """A frame can be read by anything that reads JSON."""
    assert json.loads(encode({"text": "é\n"})[HEADER.size :]) == {"text": "é\n"}
