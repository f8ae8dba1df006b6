"""`pkwb solve` and `pkwb prompt`: the real program, the real litellm, real ranks, a server that follows a script."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from problems.loader import find_problem
from problems.starter import starter_text
from sessions.store import Store, default_path
from tests.flow.candidates import GOOD, with_end, with_middle
from tests.flow.sitting import alive
from tests.llm.server import KEY, WRONG_KEY, Reply, Server, fenced, serving
from tests.program import environment, pkwb

WRONG = with_end("out[3, 5] += rank\nreturn out")
SLOW = with_end("time.sleep(0.08)\nreturn out")
DUMP = with_middle(
    "print('ENVIRONMENT', dict(os.environ), flush=True)\n"
    "for root in {os.environ['HOME'], os.environ.get('TMPDIR', '.'), '.'}:\n"
    "    for folder, _, names in os.walk(root):\n"
    "        for name in names:\n"
    "            try:\n"
    "                print('FILE', name, open(os.path.join(folder, name), 'rb').read(), flush=True)\n"
    "            except OSError:\n"
    "                pass\n"
    "raise ValueError('dumped')"
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder whose project file asks for few timed calls."""
    (tmp_path / "pkwb.toml").write_text("[run]\nsamples = 10\ntrials = 2\n")
    return tmp_path


def call(server: Server, *more: str) -> list[str]:
    """The arguments of a run on problem 1."""
    return [
        "solve",
        "1",
        "--device",
        "cpu",
        "--size",
        "smoke",
        "--model",
        "openai/fake",
        "--api-base",
        server.url,
        *more,
    ]


def solve(server: Server, place: Path, *more: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """Run to the end with events as JSON."""
    done = pkwb(*call(server, "--json", *more), cwd=place, OPENAI_API_KEY=KEY)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


@contextlib.contextmanager
def started(arguments: list[str], place: Path) -> Iterator[subprocess.Popen[str]]:
    """A run in the background; it is gone afterwards."""
    command = [sys.executable, "-m", "workbench.cli", *arguments]
    process = subprocess.Popen(
        command, cwd=place, env=environment(OPENAI_API_KEY=KEY), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_script_is_driven_to_its_target(place: Path) -> None:
    """Words, a wrong kernel, a slow one, a good one: each is judged and answered, and the good one is kept."""
    with serving("I would rather talk.", fenced(WRONG), fenced(SLOW), fenced(GOOD)) as server:
        done, events = solve(server, place, "--target", "0.2", "--stall", "0", "--output", "best.py")
    last = events[-1]
    assert (done.returncode, done.stderr) == (0, "")
    assert (last["event"], last["ending"], last["correct"], last["label"]) == ("solve_finished", "target", 1, "library")
    steps = [(event["step"], event["status"]) for event in events if event["event"] == "solve_step"]
    assert steps[:4] == [(1, "no-code"), (2, "wrong"), (3, "ok"), (4, "ok")]
    assert last["best_step"] >= 4
    assert (place / "best.py").read_text() == GOOD
    told = [message["content"] for message in server.requests[-1]["messages"] if message["role"] == "user"]
    assert "Nothing was run" in told[1]
    assert "expected" in told[2]
    assert "speedup" in told[3]
    assert "collective all_reduce: 1 call" in told[3]
    (run,) = json.loads(pkwb("solve", "--list", "--json", cwd=place).stdout)
    assert (run["state"], run["hardware"].startswith("2 ranks on ")) == ("finished", True)
    shown = json.loads(pkwb("sessions", "show", str(last["best_id"]), "--json", cwd=place).stdout)
    assert (shown["source"], shown["attempt"]["model"]) == (GOOD, "openai/fake")


def test_key_reaches_the_provider_alone(place: Path) -> None:
    """A candidate that dumps its environment and home finds no key; neither events nor anything that is kept has it."""
    with serving(fenced(DUMP)) as server:
        done, events = solve(server, place, "--steps", "1")
    assert server.keys == [f"Bearer {KEY}"]
    dumped = "".join(event["text"] for event in events if event["event"] == "log")
    assert "ENVIRONMENT" in dumped
    assert "'HOME'" in dumped
    assert KEY not in done.stdout + done.stderr
    kept = [path for path in default_path().parent.rglob("*") if path.is_file()]
    assert default_path() in kept
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]
    store = Store.open(default_path())
    verdict = store.verdict(store.attempts()[0].id)
    store.close()
    assert KEY not in json.dumps(verdict)
    assert verdict["status"] == "crash"


def test_wrong_key(place: Path) -> None:
    """A refused key ends the run with what to set, exit code 3, and without the key in any text."""
    with serving(WRONG_KEY) as server:
        done = pkwb(*call(server), cwd=place, OPENAI_API_KEY=KEY)
    assert done.returncode == 3
    assert "the key was refused or is missing" in done.stdout
    assert "pkwb solve --resume solve-" in done.stdout
    assert KEY not in done.stdout + done.stderr


def test_best_version_outlives_a_store_that_fails(place: Path) -> None:
    """Where the session store cannot be used, that is told and the best version lies in a file all the same."""
    with (place / "pkwb.toml").open("a") as settings:
        settings.write('[sessions]\npath = "/proc/no/store"\n')
    with serving(fenced(GOOD)) as server:
        done = pkwb(*call(server, "--steps", "1"), cwd=place, OPENAI_API_KEY=KEY)
    assert "are kept in memory only" in done.stderr
    (best,) = place.glob("solve-*.py")
    assert best.read_text() == GOOD
    assert f"source     {best.name}" in done.stdout


def test_killed_run_is_resumed(place: Path) -> None:
    """After kill -9 no process is left, and --resume asks what was asked when it died, with what came before."""
    with serving(fenced(WRONG), Reply(fenced(GOOD), wait_after=1), fenced(GOOD)) as server:
        with started(call(server, "--json", "--steps", "2", "--trials", "3"), place) as process:
            assert server.waiting.wait(60)
            left = children(process.pid)
            assert left
            os.kill(process.pid, signal.SIGKILL)
            process.wait(20)
            assert server.gone.wait(20)
        _until(lambda: not any(map(alive, left)))
        name = json.loads(pkwb("solve", "--list", "--json", cwd=place).stdout)[0]["name"]
        other = pkwb("solve", "--resume", name, "--model", "openai/other", cwd=place, OPENAI_API_KEY=KEY)
        assert (other.returncode, "begin another run" in other.stderr) == (2, True)
        done = pkwb("solve", "--resume", name, "--json", cwd=place, OPENAI_API_KEY=KEY)
    last = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, last["ending"], last["best_step"], last["run"]) == (0, "steps", 2, name)
    verdict = next(event for line in done.stdout.splitlines() if (event := json.loads(line))["event"] == "verdict")
    assert verdict["trials"] == 3
    assert len(server.requests) == 3
    assert server.requests[1]["messages"] == server.requests[2]["messages"]


def test_interrupted_run_says_how_to_go_on(place: Path) -> None:
    """ctrl+c ends the request and every process at once; exit code 130, and the way to go on."""
    with serving(Reply(fenced(GOOD), wait_after=1)) as server, started(call(server), place) as process:
        assert server.waiting.wait(60)
        left = children(process.pid)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
        assert server.gone.wait(20)
    assert process.returncode == 130
    assert "pkwb solve --resume solve-" in output
    _until(lambda: not any(map(alive, left)))


def test_ranks_that_cannot_start_cost_nothing(place: Path) -> None:
    """Where no rank can run no model is asked, and the reason is told; exit code 3."""
    with serving(fenced(GOOD)) as server:
        done = pkwb(*call(server), cwd=place, OPENAI_API_KEY=KEY, PKWB_RANKS_PYTHON="/no/such/python")
    assert (done.returncode, server.requests) == (3, [])
    assert "check ranks.python" in done.stderr
    assert "no model was asked" in done.stderr


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="this machine has no CUDA compiler (nvcc)")
def test_backend_that_needs_gpus_on_cpu_ranks(place: Path) -> None:
    """CUDA on CPU ranks can only be compiled: that is said before a model is asked, and nothing counts as a failure."""
    with serving(
        fenced(starter_text(find_problem("1"), "cuda").replace("USE_KERNEL = False", "USE_KERNEL = True"))
    ) as server:
        done = pkwb(*call(server, "--backend", "cuda"), cwd=place, OPENAI_API_KEY=KEY)
    assert done.returncode == 3
    assert "can be compiled but not run" in done.stderr
    assert "could not be judged: no CUDA device" in done.stdout


def test_calls_that_cannot_work(place: Path) -> None:
    """What is missing or too much in a call is told before anything starts."""
    (place / "there.py").write_text("")
    wrong = {
        ("1",): "no model is named: give --model",
        (): "give either PROBLEM or --resume RUN",
        ("1", "--resume", "x"): "give either PROBLEM or --resume RUN",
        ("--resume", "x"): "there is no run x",
        ("1", "--model", "m", "--output", "there.py"): "exists already",
        ("1", "--model", "m", "--require", "custm"): "did you mean 'custom'",
    }
    for arguments, words in wrong.items():
        done = pkwb("solve", *arguments, cwd=place)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_prompt_for_people_and_programs(place: Path) -> None:
    """`pkwb prompt` prints what a model would be told, on this machine or on a system of the catalogue."""
    arguments = (
        "prompt",
        "13",
        "--device",
        "cpu",
        "--backend",
        "triton",
        "--topology",
        "hgx-h200",
        "--ranks",
        "4",
        "--require",
        "custom",
    )
    text = pkwb(*arguments, cwd=place).stdout
    assert "Backend triton" in text
    assert "450 GB/s one way" in text
    document = json.loads(pkwb(*arguments, "--json", cwd=place).stdout)
    assert [message["role"] for message in document["messages"]] == ["system", "user"]
    assert "\n".join(message["content"] for message in document["messages"]) == text
    assert len(document["digest"]) == 64


def _until(happened: Callable[[], bool]) -> None:
    """Wait until it has happened, 20 s at most."""
    ends = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < ends
        time.sleep(0.02)
