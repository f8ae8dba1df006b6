"""`pkwb eval` through the real program, on real ranks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions.store import Store, default_path
from tests.flow.sitting import alive
from tests.program import environment, pkwb

GOOD = """
import torch.distributed as dist
def solution(tensor):
    out = tensor.clone()
    dist.all_reduce(out)
    return out
"""
ZEROS = "def solution(tensor):\n    return tensor * 0\n"
RAISES_ON_1 = """
import torch.distributed as dist
def solution(tensor):
    if dist.get_rank() == 1:
        raise ValueError("no such luck")
    return tensor
"""
SLEEPS = """
import os, time
def solution(tensor):
    print("rank process", os.getpid(), flush=True)
    while True:
        time.sleep(0.05)
        print("still here", flush=True)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file that is judged."""
    file = tmp_path / "candidate.py"
    file.write_text(GOOD)
    return file


def judge(file: Path, *arguments: str, **more: str) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, events and stderr of judging a file on problem 1."""
    done = pkwb("eval", "1", file.name, "--size", "smoke", "--json", *arguments, cwd=file.parent, **more)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_good_candidate(file: Path) -> None:
    """A right candidate: exit code 0, events in order, and a last line with everything that was measured."""
    code, events, errors = judge(file)
    last = events[-1]
    assert (code, last["event"], last["status"], last["problem"]) == (0, "verdict", "ok", "1_allreduce")
    assert [(rank["rank"], rank["status"]) for rank in last["ranks"]] == [(0, "ok"), (1, "ok")]
    assert last["speedup"]["low"] <= last["speedup"]["median"] <= last["speedup"]["high"]
    assert last["time_ms"]["candidate"] == last["candidate_ms"]["median"] > 0
    assert last["bandwidth"]["gbps"] > 0
    assert set(last["phases_ms"]) >= {"load", "check", "time"}
    assert errors == ""
    names = [event["event"] for event in events]
    assert names.index("source_seen") < names.index("rank_verdict") < names.index("first_verdict")


def test_no_perf_and_trials(file: Path) -> None:
    """--no-perf times nothing, --trials sets the number of trials; the verdict says both."""
    code, events, _ = judge(file, "--no-perf", "--trials", "2")
    last = events[-1]
    assert (code, last["status"], last["trials_passed"], last["trials"]) == (0, "ok", 2, 2)
    assert last["speedup"] is last["bandwidth"] is last["time_ms"]["candidate"] is None
    assert "time" not in last["phases_ms"]


def test_wrong_candidate(file: Path) -> None:
    """A wrong result: exit code 1, and each rank's first bad index and error."""
    file.write_text(ZEROS)
    code, events, _ = judge(file)
    assert (code, events[-1]["status"]) == (1, "wrong")
    assert all(rank["first_bad"] and rank["max_abs_err"] > 0 for rank in events[-1]["ranks"])


@pytest.mark.parametrize(
    ("text", "status", "line"),
    [
        ("import torch\ndef solution(tensor:\n", "build-error", 2),
        ("x = 1\nimport nothing_of_this_name\n", "load-error", 2),
        ("x = 1\n", "load-error", None),
        (RAISES_ON_1, "crash", 5),
    ],
)
def test_errors_have_their_line(file: Path, text: str, status: str, line: int | None) -> None:
    """What fails in the user's file: exit code 1, with the line where it fails."""
    file.write_text(text)
    code, events, _ = judge(file)
    assert (code, events[-1]["status"]) == (1, status)
    if line is not None:
        found = [event for event in events if event["event"] == "diagnostic"]
        assert {event["line"] for event in found} == {line}
        assert all(event["path"] == str(file) for event in found)


def test_report_for_people(file: Path) -> None:
    """Without --json the verdict is a table on stdout, and what happened on the way is on stderr."""
    file.write_text(RAISES_ON_1)
    done = pkwb("eval", "1", file.name, "--size", "smoke", cwd=file.parent)
    assert done.returncode == 1
    assert done.stdout.startswith("1_allreduce  crash")
    assert "rank  status" in done.stdout
    assert "candidate.py:5:" in done.stderr
    assert "no such luck" in done.stderr


def test_attempt_is_kept(file: Path) -> None:
    """What was judged from the command line is in the session store, with its source."""
    judge(file, "--no-perf")
    store = Store.open(default_path())
    (attempt,) = store.attempts()
    assert (attempt.status, attempt.path) == ("ok", str(file))
    assert store.source(attempt.digest) == GOOD
    store.close()


def test_damaged_store_is_told_beside_the_verdict(file: Path) -> None:
    """A session store that cannot be used changes no verdict; it is told, and the verdict is still the last line."""
    default_path().parent.mkdir(parents=True)
    default_path().write_bytes(b"broken" * 1000)
    code, events, errors = judge(file, "--no-perf")
    assert (code, events[-1]["event"]) == (0, "verdict")
    told = [event["text"] for event in events if event["event"] == "notice"]
    assert str(default_path()) in "".join(told) + errors


def test_interpreter_without_torch(file: Path, tmp_path: Path) -> None:
    """Ranks that cannot start are no fault of the kernel: exit code 3, and what to set."""
    code, events, _ = judge(file, PKWB_RANKS_PYTHON=str(tmp_path / "no-python"))
    assert (code, events[-1]["status"]) == (3, "infra")
    assert "no-python" in events[-1]["reason"]


@pytest.fixture
def sleeping(file: Path) -> Iterator[subprocess.Popen[str]]:
    """`pkwb eval` on a candidate that never returns."""
    file.write_text(SLEEPS)
    command = [sys.executable, "-m", "workbench.cli", "eval", "1", file.name, "--size", "smoke", "--json"]
    process = subprocess.Popen(command, cwd=file.parent, env=environment(), stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def rank_processes(process: subprocess.Popen[str]) -> list[int]:
    """The process ids that both ranks printed."""
    assert process.stdout is not None
    found: list[int] = []
    while len(found) < 2:
        event = json.loads(process.stdout.readline())
        words = event["text"].split() if event["event"] == "log" else []
        found += [int(word) for word in words if word.isdecimal()]
    return found


def assert_gone(processes: list[int]) -> None:
    """Wait until none of the processes runs; the test's time limit ends a wait in vain."""
    while any(alive(process) for process in processes):
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interruption_leaves_no_rank(sleeping: subprocess.Popen[str], number: signal.Signals) -> None:
    """ctrl+c, SIGTERM and a closed terminal: exit code 130, a last line that says cancelled, and no rank is left."""
    ranks = rank_processes(sleeping)
    sleeping.send_signal(number)
    output, _ = sleeping.communicate(timeout=30)
    assert sleeping.returncode == 130
    assert json.loads(output.splitlines()[-1])["status"] == "cancelled"
    assert not [rank for rank in ranks if alive(rank)]


def test_reader_that_goes_away(sleeping: subprocess.Popen[str]) -> None:
    """When the reader of stdout ends, as `head` does, the program ends and no rank is left."""
    ranks = rank_processes(sleeping)
    assert sleeping.stdout is not None
    sleeping.stdout.close()
    assert sleeping.wait(timeout=30) == 130
    assert not [rank for rank in ranks if alive(rank)]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a file that is always full")
@pytest.mark.parametrize("command", [["list"], ["eval", "1", "candidate.py", "--json", "--no-perf"]])
def test_output_on_a_full_disk(file: Path, command: list[str]) -> None:
    """Where what is printed cannot be written, the user reads why in one line, without a traceback."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "workbench.cli", *command],
            cwd=file.parent, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, timeout=100,
            check=False,
        )  # fmt: skip

    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "pkwb: the output cannot be written: No space left on device; free its disk or write elsewhere"
    ]


def test_killed_program_leaves_no_rank(sleeping: subprocess.Popen[str]) -> None:
    """Ranks die with the program even when it is killed."""
    ranks = rank_processes(sleeping)
    os.kill(sleeping.pid, signal.SIGKILL)
    assert_gone(ranks)
