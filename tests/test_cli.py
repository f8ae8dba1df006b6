"""The command line through the real program: forms, exit codes, what is said about mistakes."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions.store import Store, default_path
from tests.program import ROOT, pkwb
from tests.sessions.samples import source, target, verdict
from workbench import __version__
from workbench.cli import COMMANDS


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
    assert [command for command in COMMANDS if f"  {command} " not in text] == []
    assert ok("--version", cwd=tmp_path).strip() == f"pkwb {__version__}"


@pytest.mark.parametrize("command", COMMANDS)
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
        (["show", "1", "--ranks", "two"], "invalid int value"),
        (["show", "73", "--ranks", "3"], "possible up to 8: 1, 2, 4, 8"),
        (["list", "--group", "nothing"], "no problem has 'nothing' in its group; there are: collective"),
        (["list", "--collective", "all_recude"], "there are: all_"),
        (["list", "no", "such", "words"], "no problem fits 'no such words'"),
        (["eval", "1", "missing.py"], "missing.py does not exist"),
        (["eval", "1", "."], "is a folder"),
        (["eval", "1", "empty.py"], "is empty"),
        (["eval", "1", "latin.py"], "latin.py:1 is not UTF-8"),
        (["eval", "1", "latin.py", "--backend", "rocm"], "known: pytorch"),
        (["eval", "1", "latin.py", "--device", "cuda"], "--device cpu"),
        (["eval", "1", "latin.py", "--ranks", "9"], "--ranks 1 to 8"),
        (["open", "1"], "pkwb eval 1 FILE"),
        (["open"], "`pkwb open` needs a terminal; without one, use `pkwb eval PROBLEM FILE`"),
        (["open", "--file", "mine.py"], "name the problem that --file belongs to"),
        (["topology", "--device", "cuda"], "--device cpu"),
        (["topology", "h200-nvl", "--ranks", "8"], "h200-nvl has 4 devices: give --ranks 1 to 4"),
        (["eval", "1", "latin.py", "--samples", "5"], "usage: pkwb eval"),
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
    """The list shows number, name, group, parallelism, the best attempt, the last opening and the collectives."""
    kept.opened(target("13"))
    lines = ok("list", cwd=tmp_path).splitlines()
    rows = {line.split()[1]: line.split() for line in lines[1:]}
    assert rows["allreduce"] == ["1", "allreduce", "collective", "collective", "ok", "1.75x", "all_reduce"]
    today = time.strftime("%Y-%m-%d")
    assert rows["gemm_allreduce"][:5] == ["13", "gemm_allreduce", "tensor-parallel", "TP", today]
    assert [int(line.split()[0]) for line in lines[1:]] == list(range(1, 88))


def test_list_as_data(tmp_path: Path, kept: Store) -> None:
    """`list --json` is one array with the best attempt, its conditions and the last opening, as numbers."""
    kept.opened(target("2"))
    found = {entry["number"]: entry for entry in json.loads(ok("list", "--json", "--group", "COLL", cwd=tmp_path))}
    assert {entry["group"] for entry in found.values()} == {"collective"}
    conditions = {"world": 2, "device": "cpu", "size": "smoke", "dtype": "bfloat16", "backend": "pytorch"}
    assert found[1]["best"] == {"attempt": 2, "status": "ok", "speedup": 1.75, **conditions}
    assert (found[1]["collectives"], found[1]["opened"]) == (["all_reduce"], None)
    assert found[2]["best"] is None
    assert time.time() - found[2]["opened"] < 100


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (["--parallelism", "zero"], {41, 42, 43}),
        (["--collective", "all_to_all", "--group", "collective"], {8}),
        (["problem_42"], {42}),
        (["ring", "attention", "--group", "context"], {54, 55, 56, 57}),
    ],
)
def test_list_is_narrowed(arguments: list[str], numbers: set[int], tmp_path: Path) -> None:
    """Flags and words narrow the list; all of them must fit."""
    assert {entry["number"] for entry in json.loads(ok("list", "--json", *arguments, cwd=tmp_path))} == numbers


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


def user_problem(tmp_path: Path, stem: str, *changes: tuple[str, str]) -> None:
    """A copy of problem 1 in a folder that ./pkwb.toml names, with another number and name and these changes."""
    number = stem.partition("_")[0]
    folder = tmp_path / "mine" / stem
    folder.mkdir(parents=True)
    built_in = target().problem.folder
    text = (built_in / "problem.toml").read_text()
    for old, new in (("number = 1\n", f"number = {number}\n"), ('"1_allreduce"', f'"{stem}"'), *changes):
        assert old in text
        text = text.replace(old, new)
    (folder / "problem.toml").write_text(text)
    (folder / "reference.py").write_text((built_in / "reference.py").read_text())
    (tmp_path / "pkwb.toml").write_text('[problems]\npaths = ["mine"]\n')


def test_problem_folder_of_the_user(tmp_path: Path) -> None:
    """A problem in a folder named by the settings is listed and shown like the others."""
    user_problem(tmp_path, "901_copy")
    assert "901  copy" in ok("list", cwd=tmp_path)
    assert "solution(" in ok("show", "copy", cwd=tmp_path)


@pytest.mark.parametrize("name", ["1", "problem_1", "1_allreduce", "18", "42", "54", "64", "73"])
def test_show(name: str, tmp_path: Path) -> None:
    """A problem is shown with its call, arguments, results, comparison, ranks and figures."""
    text = ok("show", name, "--size", "smoke", "--ranks", "4", cwd=tmp_path)
    parts = ("solution(", "Arguments at smoke, 4 ranks", "Result", "Compared on every rank", "communication on 2 ranks")
    assert all(part in text for part in (*parts, "needed bytes", "Symbols"))


def test_show_says_formulas_with_their_numbers(tmp_path: Path) -> None:
    """Each figure stands before the formula that it comes from, and so does each derived symbol."""
    text = ok("show", "1", "--size", "256x64", "--dtype", "float32", "--ranks", "4", cwd=tmp_path)
    assert "98,304 = 2 * (P - 1) / P * M * N * itemsize" in text
    assert "out:  within the tolerance, |got - ref| <= 2e-05 * rms(ref) + 1e-05 * |ref|" in text
    assert "chunk     256 = n_total // P" in ok("show", "42", "--size", "default", "--ranks", "4", cwd=tmp_path)


def test_show_tells_ranks_apart(tmp_path: Path) -> None:
    """Where ranks get different shapes, each shape is shown with its ranks."""
    text = " ".join(ok("show", "5", "--size", "smoke", "--ranks", "3", cwd=tmp_path).split())
    assert "(3, 128, 128) on rank 0, (128, 128) on rank 1, 2 bfloat16" in text


def test_show_says_which_ranks_are_possible(tmp_path: Path) -> None:
    """World sizes that cannot be are shown with the reason, and on how many ranks bytes begin to move."""
    text = " ".join(ok("show", "73", "--ranks", "4", cwd=tmp_path).split())
    assert "possible 1, 2, 4, 8 (of 1 to 8) not 3, 5, 6, 7:" in text
    assert "needs communication on 2 ranks and more" in text


def test_show_of_a_problem_without_communication(tmp_path: Path) -> None:
    """Where nothing has to move between ranks, that is said, with what the reference moves all the same."""
    user_problem(tmp_path, "901_copy", ("needed_bytes = ", 'needed_bytes = "0"\n# '))
    text = " ".join(ok("show", "901", "--size", "smoke", cwd=tmp_path).split())
    found = json.loads(ok("show", "901", "--size", "smoke", "--json", cwd=tmp_path))
    assert "no communication: each rank's result follows from its own arguments; the reference moves 32,768" in text
    assert (found["ranks"]["needs_communication"], found["ranks"]["communicates_from"]) == (False, None)


def test_show_as_data(tmp_path: Path) -> None:
    """`show --json` has shapes as formulas and as numbers for each rank, rules, and figures with their formulas."""
    found = json.loads(ok("show", "1", "--json", "--size", "256x64", "--dtype", "float32", cwd=tmp_path))
    (tensor,), (out,) = found["inputs"], found["outputs"]
    assert tensor["shape"] == ["M", "N"]
    assert tensor["shape_by_rank"] == [[256, 64], [256, 64]]
    assert tensor["dtype"] == "float32"
    assert found["figures"]["needed_bytes"] == 256 * 64 * 4
    assert found["formulas"]["needed_bytes"] == "2 * (P - 1) / P * M * N * itemsize"
    assert (out["compare"], set(out["tolerance"])) == ("close", {"rms", "rel", "share"})
    assert found["ranks"]["possible"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found["signature"] == "solution(tensor: torch.Tensor) -> torch.Tensor"


def test_topology(tmp_path: Path) -> None:
    """The topology is drawn for people and printed as data for programs."""
    assert "rank 3" in ok("topology", "--ranks", "4", cwd=tmp_path)
    found = json.loads(ok("topology", "--ranks", "4", "--json", cwd=tmp_path))
    assert len(found["devices"]) == 4


def test_known_systems(tmp_path: Path) -> None:
    """Systems are listed, each is drawn with its figures and their sources, and all of it is there as data."""
    assert "hgx-h200" in ok("topology", cwd=tmp_path)
    lines = ok("topology", "--list", cwd=tmp_path).splitlines()
    assert any(line.split()[:3] == ["mi300x", "8", "mesh"] for line in lines)
    text = ok("topology", "mi300x", "--ranks", "2", cwd=tmp_path)
    assert all(part in text for part in ("rank 1", "gpu 2", "xGMI, 64 GB/s", "tflops.bfloat16", "unsure", "[1] AMD"))
    found = json.loads(ok("topology", "mi300x", "--json", cwd=tmp_path))
    assert found["figures"]["links[0].gbps"]["value"] == 64
    assert len(json.loads(ok("topology", "--list", "--json", cwd=tmp_path))) == len(lines) - 1


def test_own_topology_files(tmp_path: Path) -> None:
    """A folder named in the settings adds systems; a mistake in a file is told with its key."""
    own = tmp_path / "systems"
    own.mkdir()
    source = ROOT / "workbench" / "topology" / "systems" / "mi300x.toml"
    (own / "lab.toml").write_text(source.read_text().replace("value = 64", "value = 50"))
    (tmp_path / "pkwb.toml").write_text('[topology]\npaths = ["systems"]\n')
    text = ok("topology", "lab", cwd=tmp_path)
    assert "xGMI, 50 GB/s" in text
    assert "in-network reduction" not in text
    assert "in-network reduction: yes" in ok("topology", "dgx-h100", cwd=tmp_path)
    (tmp_path / "pkwb.toml").write_text('[topology]\npaths = ["systems"]\nname = "lab"\n')
    assert ok("topology", cwd=tmp_path) == text
    (own / "lab.toml").write_text(source.read_text().replace("devices =", "cards ="))
    assert "lab.toml: cards: unknown key" in refused("topology", "lab", cwd=tmp_path)
    assert "no topology 'labs'; did you mean 'lab'" in refused("topology", "labs", cwd=tmp_path)


def test_show_has_a_roofline(tmp_path: Path) -> None:
    """On a system of the catalogue every term stands with its arithmetic, and the one that binds is named."""
    asked = ("show", "1", "--ranks", "4", "--size", "1024x1024", "--topology", "hgx-h200")
    text = " ".join(ok(*asked, cwd=tmp_path).split())
    assert "Roofline on NVIDIA HGX H200, 8 GPUs, what if floor 8.99 us, link binds" in text
    assert "link 6.99 us: 3,145,728 bytes / 450 GB/s" in text
    assert "latency 2.00 us: 2 steps of 1 us" in text
    found = json.loads(ok(*asked, "--json", cwd=tmp_path))["roofline"]
    assert (found["binding"], round(found["floor_ms"], 5), found["what_if"]) == ("link", 0.00899, True)
    assert "hgx-h200 has 8 devices" in refused(*asked[:2], "--ranks", "9", *asked[4:], cwd=tmp_path)


def test_show_has_a_roofline_of_cpu_ranks(tmp_path: Path) -> None:
    """On CPU ranks the floor says what measures the links; where nothing has to move, that is said."""
    cache = {"PKWB_CACHE_DIR": str(tmp_path / "cache")}
    text = " ".join(pkwb("show", "1", "--device", "cpu", cwd=tmp_path, **cache).stdout.split())
    assert "floor not known: the links' rate is not known; 'pkwb open 1' measures it" in text
    text = " ".join(pkwb("show", "39", "--device", "cpu", cwd=tmp_path, **cache).stdout.split())
    assert "link 0: needs no communication" in text


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
