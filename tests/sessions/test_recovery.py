"""Unsaved text after a crash."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions.recovery import Recovered, Recovery
from tests.program import script
from tests.sessions.samples import crash

KEEP_WRITING = """
import sys
from pathlib import Path
from sessions.recovery import Recovery
recovery = Recovery(Path(sys.argv[1]))
for number in range(1_000_000):
    assert recovery.write(f"{number} " * 20_000)
    print(number, flush=True)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A working file with saved text."""
    file = tmp_path / "solution.py"
    file.write_text("saved")
    return file


def texts(found: Recovered | None) -> str | None:
    """The text, if any."""
    return None if found is None else found.text


def test_text_of_a_crashed_program_is_offered(file: Path) -> None:
    """Text that was unsaved when pkwb ended is offered at the next start."""
    crash(file, "unsaved größer")
    found = Recovery(file).pending()
    assert found is not None
    assert found.text == "unsaved größer"
    assert found.when > file.stat().st_mtime - 1


def test_text_is_offered_once(file: Path) -> None:
    """Taken text is not offered again, in case it is what brought pkwb down, but stays on disk until it is saved."""
    crash(file, "unsaved")
    recovery = Recovery(file)
    taken = recovery.take()
    assert taken is not None
    assert taken.text == "unsaved"
    assert json.loads(taken.kept_at.read_text())["text"] == "unsaved"
    assert Recovery(file).pending() is None
    recovery.clear()
    assert not taken.kept_at.exists()


def test_only_one_of_two_gets_the_text(file: Path) -> None:
    """When two pkwb start on the same file, only one takes the text over."""
    crash(file, "unsaved")
    one, other = Recovery(file), Recovery(file)
    assert other.pending() is not None
    assert texts(one.take()) == "unsaved"
    assert other.take() is None


def test_text_equal_to_the_file_is_not_offered(file: Path) -> None:
    """What is on disk already needs no recovery; a file that has gone does."""
    crash(file, "saved")
    assert Recovery(file).pending() is None
    file.unlink()
    assert texts(Recovery(file).pending()) == "saved"


def test_running_program_keeps_its_text(file: Path) -> None:
    """The unsaved text of a pkwb that still runs is not offered to another one, until it is killed."""
    process = script(KEEP_WRITING, str(file), cwd=file.parent)
    assert process.stdout is not None
    process.stdout.readline()
    assert Recovery(file).pending() is None
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)
    found = Recovery(file).pending()
    assert found is not None
    assert len(set(found.text.split())) == 1


def test_text_of_a_file_that_was_left_is_offered(file: Path) -> None:
    """When the same program opens a file again, the text that was left unsaved there is offered, none is lost."""
    left = Recovery(file)
    assert left.write("left unsaved")
    assert left.pending() is None
    again = Recovery(file)
    assert texts(again.pending()) == "left unsaved"
    assert again.write("typed since")
    again.clear()

    assert texts(Recovery(file).pending()) == "left unsaved"


def test_newest_text_is_offered(file: Path) -> None:
    """After two crashes the newer text is offered."""
    crash(file, "older")
    crash(file, "newer")
    assert texts(Recovery(file).pending()) == "newer"


def test_clear_forgets_the_own_text_only(file: Path) -> None:
    """A save forgets this program's unsaved text, not that of another one."""
    crash(file, "another's")
    recovery = Recovery(file)
    assert recovery.write("own")
    recovery.clear()
    assert texts(recovery.pending()) == "another's"


def test_files_do_not_mix(file: Path) -> None:
    """Unsaved text of one file is never offered for another one."""
    crash(file, "unsaved")
    assert Recovery(file.with_name("other.py")).pending() is None


def test_broken_side_file_is_ignored(file: Path) -> None:
    """A side file that cannot be read does not keep pkwb from starting."""
    crash(file, "unsaved")
    found = Recovery(file).pending()
    assert found is not None
    found.kept_at.write_text('{"text": "cut o')
    assert Recovery(file).pending() is None


def test_unwritable_folder_is_told(file: Path, tmp_path: Path) -> None:
    """Where text cannot be kept, the message names the folder and what to do; nothing raises."""
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    recovery = Recovery(file, blocked / "recovery")
    assert not recovery.write("unsaved")
    assert str(blocked) in recovery.trouble
    assert recovery.pending() is None
    recovery.clear()
    blocked.unlink()
    assert recovery.write("unsaved")
    assert recovery.trouble == ""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(text=st.text(alphabet=st.characters(exclude_categories=()), max_size=200))
def test_any_text_comes_back(tmp_path: Path, text: str) -> None:
    """Any text comes back letter by letter, also what cannot be written as UTF-8."""
    recovery = Recovery(tmp_path / "missing.py", tmp_path / "kept")
    assert recovery.write(text), recovery.trouble
    (side_file,) = (tmp_path / "kept").glob("*.json")
    content = json.loads(side_file.read_text())
    side_file.write_text(json.dumps({**content, "born": "a process that has ended"}))
    assert texts(recovery.pending()) == text
    recovery.clear()
