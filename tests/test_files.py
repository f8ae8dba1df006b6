"""Saving: the file is old or new and never half, and a failure says what to do."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from workbench import files
from workbench.errors import UsageError


@contextmanager
def _file_size_limit(size: int) -> Iterator[None]:
    """A real failure in the middle of writing: the system refuses files above ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)


@pytest.mark.parametrize("data", ["größe = 1\n", b"\x00\xff", ""], ids=["text", "bytes", "empty"])
def test_new_and_existing_file(tmp_path: Path, data: str | bytes) -> None:
    """A save writes exactly what was given, whether the file is new or not, and leaves nothing beside it."""
    path = tmp_path / "kernel.py"
    for _ in range(2):
        files.write_atomic(path, data)
        assert path.read_bytes() == (data.encode() if isinstance(data, str) else data)
    assert os.listdir(tmp_path) == ["kernel.py"]


def test_new_file_has_the_usual_rights(tmp_path: Path) -> None:
    """A new file gets the rights that any program's new file gets."""
    files.write_atomic(tmp_path / "kernel.py", "1")
    (tmp_path / "other.py").write_text("1")
    assert (tmp_path / "kernel.py").stat().st_mode == (tmp_path / "other.py").stat().st_mode


def test_rights_survive(tmp_path: Path) -> None:
    """An executable or private file stays executable or private."""
    path = tmp_path / "kernel.py"
    path.write_text("old")
    path.chmod(0o750)
    files.write_atomic(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_link_stays_a_link(tmp_path: Path) -> None:
    """Saving through a symbolic link changes the file it points to."""
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "kernel.py"
    target.write_text("old")
    link = tmp_path / "kernel.py"
    link.symlink_to(target)
    files.write_atomic(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_reader_never_sees_a_part(tmp_path: Path) -> None:
    """Whoever has the old file open goes on reading the old content."""
    path = tmp_path / "kernel.py"
    path.write_text("old content")
    with path.open() as reader:
        files.write_atomic(path, "new")
        assert reader.read() == "old content"


def test_failure_in_the_middle_keeps_the_old_file(tmp_path: Path) -> None:
    """When writing breaks off, the old file is whole and no temporary file is left."""
    path = tmp_path / "kernel.py"
    path.write_text("old")
    with _file_size_limit(1000), pytest.raises(UsageError, match="larger than the system's limit"):
        files.write_atomic(path, "x" * 5000)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["kernel.py"]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "the disk is full; free some space"),
        (errno.EDQUOT, "the disk quota is used up"),
        (errno.EROFS, "read-only file system; choose another folder"),
        (errno.EBADMSG, os.strerror(errno.EBADMSG)),
    ],
)
def test_disk_errors_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, advice: str) -> None:
    """A full or failing disk is named with its remedy; the old file is whole."""
    path = tmp_path / "kernel.py"
    path.write_text("old")

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UsageError, match=advice):
        files.write_atomic(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["kernel.py"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    """A missing folder, a folder instead of a file, a file instead of a folder and a long name are told apart."""
    (tmp_path / "file").write_text("")
    cases = {
        tmp_path / "absent" / "kernel.py": "does not exist; create it first",
        tmp_path: "it is a folder",
        tmp_path / "file" / "kernel.py": "is not a folder",
        tmp_path / ("k" * 300): "name is too long",
    }
    for path, advice in cases.items():
        with pytest.raises(UsageError, match=advice):
            files.write_atomic(path, "new")
    assert os.listdir(tmp_path) == ["file"]


def test_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without write permission is named, with the advice to change its rights."""

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UsageError, match=f"no permission to write into {tmp_path}; change its rights"):
        files.write_atomic(tmp_path / "kernel.py", "new")


def test_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that its owner made read-only is respected, though its folder would allow to replace it."""
    path = tmp_path / "kernel.py"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match="read-only; make it writable"):
        files.write_atomic(path, "new")
    assert path.read_text() == "old"


def test_text_that_is_not_unicode(tmp_path: Path) -> None:
    """Half a surrogate pair is refused before anything is touched."""
    with pytest.raises(UsageError, match="character 1 is not valid Unicode"):
        files.write_atomic(tmp_path / "kernel.py", "a\ud800")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["config", "state", "cache"])
def test_folders(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings, state and cache live in the platform's folders, or where the environment says."""
    folder = getattr(files, f"{kind}_dir")
    monkeypatch.delenv(f"PKWB_{kind.upper()}_DIR", raising=False)
    assert folder().is_absolute()
    assert "pkwb" in folder().parts
    monkeypatch.setenv(f"PKWB_{kind.upper()}_DIR", str(tmp_path / "mine"))
    assert folder() == tmp_path / "mine"


def test_json_cache(tmp_path: Path) -> None:
    """A cached value comes back; a missing or damaged cache counts as none."""
    path = tmp_path / "deep" / "value.json"
    assert files.read_json(path) is None
    files.write_json(path, {"gbps": 3.5})
    assert files.read_json(path) == {"gbps": 3.5}
    path.write_bytes(b"\xff{")
    assert files.read_json(path) is None


def test_network_file_systems_are_known(tmp_path: Path) -> None:
    """The innermost mount decides, spaces in its name included; local file systems give an empty answer."""
    home = tmp_path / "my home"
    table = tmp_path / "mounts"
    escaped = str(home).replace(" ", "\\040")
    table.write_text(
        f"/dev/vda / ext4 rw 0 0\nserver:/export {escaped} nfs4 rw 0 0\n"
        f"me@box: {escaped}/far fuse.sshfs rw 0 0\ntmpfs {escaped}/near tmpfs rw 0 0\nbroken\n"
    )
    found = {name: files.network_filesystem(home / name, table) for name in ("", "a.py", "far/a.py", "near/a.py")}
    assert found == {"": "nfs4", "a.py": "nfs4", "far/a.py": "fuse.sshfs", "near/a.py": ""}
    assert files.network_filesystem(tmp_path / "my home 2", table) == ""
    assert files.network_filesystem(tmp_path, tmp_path / "absent") == ""
