"""The user at the desk: editing in the pane and elsewhere, the history, the terminal's size, disks that refuse."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import candidates
from tests.e2e.conftest import Start
from tests.e2e.sitting import Sitting

VERDICT, HISTORY, EDITOR = "5 Verdict", "7 History", "1_allreduce_pytorch.py"


def test_edit_and_save_in_the_pane(sitting: Sitting) -> None:
    """What is typed is marked as not saved; one key writes the file and judges it."""
    assert sitting.judge(candidates.good("before")) == "ok"
    number = sitting.latest
    sitting.type_at_top("# typed here")
    sitting.press("save")

    assert sitting.verdict(number + 1) == "ok"
    assert sitting.path.read_text() == f"# typed here\n{candidates.good('before')}"
    sitting.until(lambda: "not saved" not in sitting.text)


def test_run_again(sitting: Sitting) -> None:
    """One key judges the file once more as it is."""
    number = sitting.latest
    sitting.press("run")

    assert sitting.verdict(number + 1) == sitting.attempts[number]


@pytest.mark.parametrize(("key", "kept"), [("t", "# from the other editor"), ("k", "# mine")])
def test_save_elsewhere_while_the_pane_holds_text(sitting: Sitting, key: str, kept: str) -> None:
    """A save from elsewhere runs, and a question decides which text stays in the pane; none is lost unasked."""
    assert sitting.judge(candidates.good(f"before {key}")) == "ok"
    sitting.type_at_top("# mine")
    number = sitting.latest
    sitting.save(candidates.good(f"from the other editor {key}"))
    sitting.sees("The file changed on disk", "holds text that is not saved", "# mine", "from the other editor")
    sitting.press(key)
    sitting.sees(EDITOR, kept)

    assert sitting.verdict(number + 1) == "ok"
    assert sitting.path.read_text() == candidates.good(f"from the other editor {key}")
    sitting.press("save")
    assert sitting.verdict(number + 2) == "ok"


def test_own_editor(sitting: Sitting) -> None:
    """The user's own editor gets the terminal and the file; what it saves is judged while it is still open."""
    assert sitting.judge(candidates.good("before the editor")) == "ok"
    number = sitting.latest
    closed = sitting.folder / "closed"
    lines = ["#!/bin/sh", "echo my editor is open", 'echo "# from my editor" >> "$1"']
    sitting.editor.write_text("\n".join([*lines, f"while [ ! -e {closed} ]; do sleep 0.02; done\n"]))
    sitting.editor.chmod(0o755)
    sitting.press("editor")
    sitting.until("my editor is open")
    sitting.wait(lambda: sitting.path.read_text().endswith("# from my editor\n"))
    closed.touch()

    assert sitting.verdict(number + 1) == "ok"
    sitting.sees(EDITOR, "# from my editor")


def test_history(sitting: Sitting) -> None:
    """An earlier attempt can be looked at, compared with the text now, and brought back."""
    assert sitting.judge(candidates.good("the first text")) == "ok"
    earlier = sitting.latest
    assert sitting.judge(candidates.WRONG_ON_1) == "wrong"
    sitting.go("7")
    sitting.press("down", "enter")
    dialog = f"Attempt #{earlier}"
    sitting.sees(dialog, "ok", "2 cpu ranks", "# the first text", "out[3, 5] += rank")
    sitting.press("d")
    sitting.until(lambda: "out[3, 5] += rank" not in sitting.pane(dialog))
    sitting.press("r")
    sitting.sees(EDITOR, "# the first text")
    sitting.until("not saved")
    sitting.press("save")

    assert sitting.verdict(earlier + 2) == "ok"
    assert sitting.path.read_text() == candidates.good("the first text")


def test_terminal_of_another_size(sitting: Sitting) -> None:
    """Smaller terminals show one pane at a time, too small ones say what is needed; nothing is lost on the way back."""
    assert sitting.judge(candidates.WRONG_ON_1) == "wrong"
    for columns, rows in ((80, 24), (60, 15)):
        sitting.resize(columns, rows)
        sitting.until("def solution(tensor)")
        sitting.go("5", "wrong on rank 1")
        sitting.go("4", "def solution(tensor)")
    sitting.resize(59, 15)
    sitting.until("The terminal is too small: 59x15.")
    sitting.until("pkwb needs 60x15.")
    sitting.resize(160, 48)
    sitting.sees(VERDICT, "wrong on rank 1")
    sitting.sees(EDITOR, "def solution(tensor)")
    sitting.sees(HISTORY, f"#{sitting.latest} ")


def test_small_terminal_from_the_start(start: Start) -> None:
    """At 80x24 the results come first, and each pane is one key away."""
    sitting = start(size=(80, 24))
    sitting.until("ok, 2 of 2 trials")
    sitting.save(candidates.WRONG_ON_1)
    sitting.until("wrong on rank 1: out[3, 5]")
    sitting.press("7")
    sitting.until("✗ wrong")
    sitting.press("4")
    sitting.until("def solution(tensor)")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a small file system of its own."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk for this test needs root")
    sitting = tmp_path / "sitting"
    work = sitting / "work"
    work.mkdir(parents=True)
    done = _mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", str(work))
    if done.returncode:
        pytest.skip(f"this system does not let a small disk be mounted: {done.stderr.strip()}")
    yield sitting
    subprocess.run(["umount", "--lazy", str(work)], check=True)


def _mount(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["mount", *arguments], check=False, capture_output=True, text=True)


def test_full_disk(start: Start, disk: Path) -> None:
    """On a full disk the old file stays whole, the text stays in the pane, and saving works once there is room."""
    sitting = start(disk).ready()
    before = sitting.path.read_text()
    filler = disk / "work" / "filler"
    with pytest.raises(OSError, match="No space"):
        filler.write_bytes(b"0" * 65536)
    sitting.type_at_top("# typed on a full disk")
    sitting.press("save")
    sitting.told("the disk is full")
    assert sitting.path.read_text() == before
    sitting.sees(EDITOR, "# typed on a full disk")
    filler.unlink()
    sitting.press("save")

    assert sitting.verdict(2) == "ok"
    assert sitting.path.read_text() == f"# typed on a full disk\n{before}"
    assert sorted(os.listdir(sitting.path.parent)) == [sitting.path.name]


def test_read_only_disk(start: Start, disk: Path) -> None:
    """Where nothing can be written, saving says why and keeps the text; earlier results stay."""
    sitting = start(disk).ready()
    before = sitting.path.read_text()
    assert _mount("-o", "remount,ro", str(disk / "work")).returncode == 0
    sitting.type_at_top("# typed in vain")
    sitting.press("save")
    sitting.told("read-only file system")

    assert sitting.path.read_text() == before
    sitting.sees(EDITOR, "# typed in vain")
    sitting.sees(VERDICT, "ok, 2 of 2 trials")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write every file")
def test_file_that_cannot_be_written(sitting: Sitting) -> None:
    """A file without the right to write is left as it is, and saving says what to do."""
    assert sitting.judge(candidates.good("not to be overwritten")) == "ok"
    number = sitting.latest
    sitting.path.chmod(0o444)
    sitting.type_at_top("# typed")
    sitting.press("save")
    sitting.told("the file is read-only; make it writable (chmod u+w)")
    assert sitting.path.read_text() == candidates.good("not to be overwritten")
    sitting.path.chmod(0o644)
    sitting.press("save")

    assert sitting.verdict(number + 1) == "ok"


def test_file_that_is_taken_away(sitting: Sitting) -> None:
    """A working file that vanishes is no loss: the text stays, and the file is back after the next save."""
    assert sitting.judge(candidates.good("before it vanishes")) == "ok"
    number = sitting.latest
    sitting.path.unlink()
    sitting.press("run")
    sitting.told("does not exist")
    sitting.type_at_top("# back")
    sitting.press("save")

    assert sitting.verdict(number + 1) == "ok"
    assert sitting.path.read_text() == f"# back\n{candidates.good('before it vanishes')}"


def test_file_that_is_no_text(sitting: Sitting) -> None:
    """A save that is not UTF-8 or holds nothing is said with its reason, and the next good save runs."""
    number = sitting.latest
    sitting.path.write_bytes(b"x = '\xff'\n")
    sitting.told("is not UTF-8")
    sitting.path.write_bytes(b"")
    sitting.told("is empty")

    assert sitting.judge(candidates.good("text again")) == "ok"
    assert sitting.latest == number + 1
