"""The command line through the real program: forms, exit codes, what is said about mistakes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions.store import Store, default_path
from tests.program import pkwb
from tests.sessions.samples import source, target, verdict
from workbench import __version__


def ok(*arguments: str, cwd: Path) -> str:
    """stdout of a command that must succeed without a word on stderr."""
    done = pkwb(*arguments, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refused(*arguments: str, cwd: Path, code: int = 2) -> str:
    """stderr of a command that must fail with this exit code, and prints no data."""
    done = pkwb(*arguments, cwd=cwd)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    """A session store with two attempts on problem 1, whose working file has changed since."""
    file = tmp_path / "mine.py"
    file.write_text("now\n")
    store = Store.open(default_path())
    store.record(target(), source("before\n", file), verdict(1, "wrong"), 1.0)
    store.record(target(), source("later\n", file), verdict(2, speedup=1.75), 2.0)
    yield store
    store.close()


def test_help_and_version(tmp_path: Path) -> None:
    """Help names every command; the version is the package's."""
    text = ok("--help", cwd=tmp_path)
    assert all(command in text for command in ("open", "eval", "list", "show", "doctor", "topology", "sessions"))
    assert ok("--version", cwd=tmp_path).strip() == f"pkwb {__version__}"


@pytest.mark.parametrize("command", ["open", "eval", "list", "show", "doctor", "topology", "sessions"])
def test_help_of_each_command(command: str, tmp_path: Path) -> None:
    """Every command explains itself."""
    assert ok(command, "--help", cwd=tmp_path).startswith(f"usage: pkwb {command}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "COMMAND"),
        (["opn"], "did you mean open?"),
        (["frobnicate"], "commands are open, eval"),
        (["show"], "PROBLEM"),
        (["show", "999"], "there is no problem '999'"),
        (["show", "allreduse"], "allreduce"),
        (["show", "all"], "fits several problems"),
        (["show", "1", "--size", "huge"], "there is no size 'huge'"),
        (["show", "1", "--dtype", "float8"], "float8"),
        (["show", "1", "--ranks", "0"], "--ranks"),
        (["show", "1", "--ranks", "9"], "--ranks 1 to 8"),
        (["show", "1", "--ranks", "two"], "invalid int value"),
        (["show", "73", "--ranks", "3"], "possible up to 8: 1, 2, 4, 8"),
        (["list", "--group", "nothing"], "groups are"),
        (["eval", "1", "missing.py"], "missing.py does not exist"),
        (["eval", "1", "."], "is a folder"),
        (["eval", "1", "empty.py"], "is empty"),
        (["eval", "1", "latin.py"], "latin.py:1 is not UTF-8"),
        (["eval", "1", "latin.py", "--backend", "cuda"], "known: pytorch"),
        (["eval", "1", "latin.py", "--device", "cuda"], "--device cpu"),
        (["open", "1"], "pkwb eval 1 FILE"),
        (["open"], "name a problem"),
        (["topology", "--device", "cuda"], "--device cpu"),
        (["sessions", "show", "7"], "there is no attempt 7"),
        (["sessions", "export", "7", "out"], "there is no attempt 7"),
        (["sessions", "export", "20200101-000000-ffff", "out"], "there is no sitting"),
        (["sessions", "list", "nothing"], "there is no problem"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(arguments: list[str], said: str, tmp_path: Path) -> None:
    """A wrong call ends with exit code 2, nothing on stdout, and what to do on stderr."""
    (tmp_path / "empty.py").touch()
    (tmp_path / "latin.py").write_bytes(b"# gr\xfc\xdfe\n")
    assert said in refused(*arguments, cwd=tmp_path)


def test_open_without_terminal_makes_no_file(tmp_path: Path) -> None:
    """Where no screen can be drawn, nothing is created either."""
    refused("open", "1", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_wrong_settings_stop_the_program(tmp_path: Path) -> None:
    """A mistake in ./pkwb.toml is told with its line, by every command that uses settings."""
    (tmp_path / "pkwb.toml").write_text("[ranks]\nwrold = 2\n")
    for command in (["list"], ["show", "1"], ["topology"]):
        assert "pkwb.toml:2: ranks.wrold is not a setting; did you mean ranks.world?" in refused(*command, cwd=tmp_path)


def test_list(tmp_path: Path, kept: Store) -> None:
    """The list shows number, name, group, parallelism and the best attempt of each problem."""
    lines = ok("list", cwd=tmp_path).splitlines()
    row = next(line.split() for line in lines if line.split()[1] == "allreduce")
    assert row == ["1", "allreduce", "collective", "collective", "1.75x"]
    numbers = [int(line.split()[0]) for line in lines[1:]]
    assert numbers == sorted(numbers)
    assert {1, 2, 3, 4, 5, 6, 7, 8, 13, 18, 42, 54, 64, 73} <= set(numbers)


def test_list_as_data(tmp_path: Path, kept: Store) -> None:
    """`list --json` is one array, narrowed by --group."""
    found = json.loads(ok("list", "--json", "--group", "COLL", cwd=tmp_path))
    assert {entry["group"] for entry in found} == {"collective"}
    assert found[0]["best"] == {"attempt": 2, "speedup": 1.75}
    assert found[1]["best"] is None


def test_list_writes_nothing(tmp_path: Path, own_folders: Path) -> None:
    """Looking at the list leaves no file behind, neither here nor in the state folder."""
    ok("list", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not (own_folders / "state").exists()


def test_list_with_damaged_store(tmp_path: Path) -> None:
    """A damaged session store is told on stderr, and the list is printed all the same."""
    default_path().parent.mkdir(parents=True)
    default_path().write_bytes(b"broken" * 1000)
    done = pkwb("list", cwd=tmp_path)
    assert done.returncode == 0
    assert "allreduce" in done.stdout
    assert str(default_path()) in done.stderr


def test_problem_folder_of_the_user(tmp_path: Path) -> None:
    """A problem in a folder named by the settings is listed and shown like the others."""
    folder = tmp_path / "mine" / "901_copy"
    folder.mkdir(parents=True)
    built_in = target().problem.folder
    text = (built_in / "problem.toml").read_text()
    text = text.replace("number = 1\n", "number = 901\n").replace('stem = "1_allreduce"', 'stem = "901_copy"')
    (folder / "problem.toml").write_text(text)
    (folder / "reference.py").write_text((built_in / "reference.py").read_text())
    (tmp_path / "pkwb.toml").write_text('[problems]\npaths = ["mine"]\n')
    assert "901  copy" in ok("list", cwd=tmp_path)
    assert "solution(" in ok("show", "copy", cwd=tmp_path)


@pytest.mark.parametrize("name", ["1", "problem_1", "1_allreduce", "18", "42", "54", "64", "73"])
def test_show(name: str, tmp_path: Path) -> None:
    """A problem is shown with its call, shapes as symbols and numbers, tolerance and figures."""
    text = ok("show", name, "--size", "smoke", "--ranks", "4", cwd=tmp_path)
    assert all(part in text for part in ("solution(", "at smoke, rank 0", "P = 4", "compared", "needed bytes"))


def test_show_as_data(tmp_path: Path) -> None:
    """`show --json` has shapes as formulas and as numbers for each rank, and figures in numbers."""
    found = json.loads(ok("show", "1", "--json", "--size", "256x64", "--dtype", "float32", cwd=tmp_path))
    (tensor,) = found["inputs"]
    assert tensor["shape"] == ["M", "N"]
    assert tensor["shape_by_rank"] == [[256, 64], [256, 64]]
    assert tensor["dtype"] == "float32"
    assert found["figures"]["needed_bytes"] == 256 * 64 * 4
    assert set(found["tolerance"]) == {"rms", "rel"}


def test_topology(tmp_path: Path) -> None:
    """The topology is drawn for people and printed as data for programs."""
    assert "rank 3" in ok("topology", "--ranks", "4", cwd=tmp_path)
    found = json.loads(ok("topology", "--ranks", "4", "--json", cwd=tmp_path))
    assert len(found["devices"]) == 4


def test_sessions_list(tmp_path: Path, kept: Store) -> None:
    """Attempts are listed newest first; sittings are summed up; both also as data."""
    lines = ok("sessions", "list", "1", cwd=tmp_path).splitlines()
    assert [line.split()[0] for line in lines] == ["id", "2", "1"]
    assert [item["status"] for item in json.loads(ok("sessions", "list", "--json", cwd=tmp_path))] == ["ok", "wrong"]
    (sitting,) = json.loads(ok("sessions", "list", "--sittings", "--json", cwd=tmp_path))
    assert (sitting["name"], sitting["attempts"], sitting["ok"], sitting["best"]) == (kept.sitting, 2, 1, 1.75)
    assert kept.sitting in ok("sessions", "list", "--sittings", cwd=tmp_path)


def test_sessions_list_is_plain_text(tmp_path: Path, kept: Store) -> None:
    """A reason that a candidate filled with escape sequences and line breaks is one plain row of the list."""
    hostile = dataclasses.replace(verdict(3, "crash"), reason="rank 0: \x1b]0;owned\x07\x1b[2Jboom\nmore")
    kept.record(target(), source("hostile\n"), hostile, 3.0)
    newest = ok("sessions", "list", cwd=tmp_path).splitlines()[1]
    assert newest.endswith("  rank 0: boom more")
    assert newest.isprintable()


def test_sessions_list_of_nothing(tmp_path: Path) -> None:
    """With nothing kept yet, stdout stays empty and stderr says how attempts come about."""
    done = pkwb("sessions", "list", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "pkwb eval" in done.stderr


def test_sessions_of_a_damaged_store(tmp_path: Path) -> None:
    """A store that cannot be read is a failure with advice, not an empty list."""
    (tmp_path / "kept.db").write_text("not a database\n" * 100)
    (tmp_path / "pkwb.toml").write_text('[sessions]\npath = "kept.db"\n')
    told = refused("sessions", "list", cwd=tmp_path, code=3)

    assert "kept.db cannot be used" in told
    assert "set sessions.path" in told


def test_sessions_show(tmp_path: Path, kept: Store) -> None:
    """An attempt is shown with verdict and source, the source alone, or as data with samples."""
    text = ok("sessions", "show", "2", cwd=tmp_path)
    assert "1.75x" in text
    assert text.endswith("later\n")
    assert ok("sessions", "show", "1", "--source", cwd=tmp_path) == "before\n"
    data: dict[str, Any] = json.loads(ok("sessions", "show", "1", "--json", cwd=tmp_path))
    assert data["verdict"]["candidate_samples_ms"] == [[2.0, 2.5], [1.5, 2.0]]


def test_sessions_diff(tmp_path: Path, kept: Store) -> None:
    """An attempt is compared with its file as it is now, with another attempt, or with any file."""
    assert ok("sessions", "diff", "1", cwd=tmp_path).splitlines()[-2:] == ["-before", "+now"]
    assert ok("sessions", "diff", "1", "2", cwd=tmp_path).splitlines()[-2:] == ["-before", "+later"]
    (tmp_path / "other.py").write_text("before\n")
    assert ok("sessions", "diff", "1", "other.py", cwd=tmp_path) == ""


def test_sessions_export(tmp_path: Path, kept: Store) -> None:
    """An attempt or a sitting becomes a folder, whose name is printed; a full folder is refused."""
    assert ok("sessions", "export", "2", "one", cwd=tmp_path).strip() == "one"
    assert (tmp_path / "one" / "mine.py").read_text() == "later\n"
    ok("sessions", "export", kept.sitting, "all", cwd=tmp_path)
    assert (tmp_path / "all" / "0001-wrong" / "verdict.json").exists()
    assert "not empty" in refused("sessions", "export", "1", "one", cwd=tmp_path)


def test_doctor(tmp_path: Path) -> None:
    """The doctor names what it looked at, and finds torch where the ranks would."""
    done = pkwb("doctor", "--json", cwd=tmp_path)
    found = {finding["name"]: finding for finding in json.loads(done.stdout)}
    assert {"settings", "pkwb", "torch", "cores", "folder", "terminal", "sessions"} <= set(found)
    assert found["torch"]["state"] == "ok"
    assert all(finding["meaning"] for finding in found.values())
    assert done.returncode == (3 if any(finding["state"] == "problem" for finding in found.values()) else 0)


def test_doctor_finds_problems(tmp_path: Path) -> None:
    """An interpreter without torch, broken settings and a damaged store are problems: exit code 3."""
    default_path().parent.mkdir(parents=True)
    default_path().write_bytes(b"broken" * 1000)
    done = pkwb("doctor", cwd=tmp_path, PKWB_RANKS_PYTHON="/nowhere/python")
    assert done.returncode == 3
    assert "install torch there, or set ranks.python" in done.stdout
    assert str(default_path()) in done.stdout
    (tmp_path / "pkwb.toml").write_text("ranks = 3")
    assert "ranks must be a section" in pkwb("doctor", cwd=tmp_path).stdout
