"""Reading the working file."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from workbench.errors import SourceError
from workbench.source import MAX_BYTES, make_source, read_source


def test_source_is_read(tmp_path: Path) -> None:
    """A file is read as it is, under the SHA-256 of its bytes."""
    file = tmp_path / "a.py"
    file.write_bytes("x = 'ä'\r\n".encode())
    source = read_source(file)
    assert source.text == "x = 'ä'\r\n"
    assert source.digest == hashlib.sha256(file.read_bytes()).hexdigest()
    assert source.path == file
    assert make_source(file, source.text) == source


def test_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    """A byte order mark, as some editors write it, does not become a part of the code."""
    file = tmp_path / "a.py"
    file.write_bytes(b"\xef\xbb\xbfx = 1\n")
    assert read_source(file).text == "x = 1\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"x = 1\ny = '\xff'\n", "a.py:2 is not UTF-8 (byte 0xff)"),
        ("x = 1".encode("utf-16"), "is not UTF-8"),
        (b"#" * (MAX_BYTES + 1), "larger than 4 MB"),
    ],
)
def test_content_that_cannot_be_judged(tmp_path: Path, content: bytes, expected: str) -> None:
    """A file that cannot be judged is refused with its name and the reason."""
    file = tmp_path / "a.py"
    file.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        read_source(file)
    assert expected in str(caught.value)
    assert str(file) in str(caught.value)


def test_empty_file_can_be_edited(tmp_path: Path) -> None:
    """The editor opens an empty file, although it cannot be judged."""
    file = tmp_path / "a.py"
    file.touch()
    assert read_source(file, allow_empty=True).text == ""


def test_places_that_are_no_file(tmp_path: Path) -> None:
    """A missing file, a folder and a pipe are refused, and nothing waits for the pipe."""
    os.mkfifo(tmp_path / "pipe")
    for name, expected in (("missing", "does not exist"), (".", "is a folder"), ("pipe", "not a regular file")):
        with pytest.raises(SourceError, match=expected):
            read_source(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_unreadable_file(tmp_path: Path) -> None:
    """A file without read permission is refused with the system's reason."""
    file = tmp_path / "a.py"
    file.write_text("x = 1")
    file.chmod(0)
    with pytest.raises(SourceError, match="Permission denied"):
        read_source(file)
