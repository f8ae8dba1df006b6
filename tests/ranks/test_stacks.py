"""Where a stuck rank stands, read from stacks that faulthandler really wrote."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from workbench.judge.stacks import Standing, standing

SPOT = "# <- here"

RUNNER = """
import faulthandler, functools, sys, threading

path = sys.argv[1]
names = {"dump": functools.partial(faulthandler.dump_traceback, sys.stderr, all_threads=True), "threading": threading}
exec(compile(open(path).read(), path, "exec"), names)
names["solution"]()
"""


def run(tmp_path: Path, text: str, code: int = 0) -> tuple[str, str, int]:
    """Call ``solution`` of a file that dumps its stacks; the dump, the file's path, the marked line's number or 0."""
    path = tmp_path / "kernel.py"
    path.write_text(dedent(text))
    environment = {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", RUNNER, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    marked = [number for number, line in enumerate(path.read_text().splitlines(), 1) if SPOT in line]
    return done.stderr, str(path), marked[0] if marked else 0


def test_the_innermost_line_of_the_users_file_is_named(tmp_path: Path) -> None:
    """A rank in a helper of the user's is shown with that function and line."""
    dump, path, line = run(
        tmp_path,
        """
        def spin():
            dump()  # <- here

        def solution():
            spin()
        """,
    )
    assert standing(dump, path) == Standing(f"spin, kernel.py:{line}", line)


def test_library_frames_lead_back_to_the_users_line(tmp_path: Path) -> None:
    """A rank inside a library is shown at the user's line that called it."""
    dump, path, line = run(
        tmp_path,
        """
        import json

        class Slow:
            pass

        def solution():
            json.dumps(Slow(), default=hook)  # <- here

        hook = eval("lambda value: dump()", {"dump": dump})        """,
    )
    assert standing(dump, path) == Standing(f"solution, kernel.py:{line}", line)


def collectives(tmp_path: Path, text: str) -> None:
    """A torch.distributed whose collectives are plain Python, for files in the same folder."""
    library = tmp_path / "torch" / "distributed"
    library.mkdir(parents=True)
    for package in (library.parent, library):
        (package / "__init__.py").touch()
    (library / "distributed_c10d.py").write_text(text)


def test_a_collective_is_named(tmp_path: Path) -> None:
    """A rank that waits in torch.distributed is shown with the collective's name."""
    collectives(tmp_path, "def wrapper(call):\n    return all_reduce(call)\n\n\ndef all_reduce(call):\n    call()\n")
    dump, path, line = run(
        tmp_path,
        """
        from torch.distributed.distributed_c10d import wrapper as all_reduce

        def solution():
            all_reduce(dump)  # <- here
        """,
    )
    assert standing(dump, path) == Standing(f"all_reduce, kernel.py:{line}", line)


def test_a_collective_that_calls_the_user_is_not_waited_for(tmp_path: Path) -> None:
    """A rank that runs the user's own code inside a collective stands in that code, not in the collective."""
    collectives(tmp_path, "def all_reduce(call):\n    call()\n")
    dump, path, line = run(
        tmp_path,
        """
        from torch.distributed.distributed_c10d import all_reduce

        def hook():
            dump()  # <- here

        def solution():
            all_reduce(hook)
        """,
    )
    assert standing(dump, path) == Standing(f"hook, kernel.py:{line}", line)


def test_the_main_thread_counts_first(tmp_path: Path) -> None:
    """When a thread of the user's runs beside the call, the line of the call itself is shown."""
    dump, path, line = run(
        tmp_path,
        """
        stop = threading.Event()
        started = threading.Event()

        def beside():
            started.set()
            stop.wait()

        def solution():
            threading.Thread(target=beside).start()
            started.wait()
            dump()  # <- here
            stop.set()
        """,
    )
    assert dump.count("most recent call first") == 2
    assert standing(dump, path) == Standing(f"solution, kernel.py:{line}", line)


def test_a_thread_of_the_users_is_shown_when_it_is_all_there_is(tmp_path: Path) -> None:
    """Where only another thread is in the user's file, that is where the rank stands."""
    dump, path, line = run(
        tmp_path,
        """
        waiting = threading.Event()

        def beside():
            waiting.wait()
            dump()  # <- here

        thread = threading.Thread(target=beside)
        thread.start()
        waiting.set()
        solution = thread.join
        """,
    )
    assert standing(dump, path).line == line


def test_a_fatal_signal_leaves_the_line_of_the_crash(tmp_path: Path) -> None:
    """The dump of a segmentation fault names the user's line, too."""
    dump, path, line = run(
        tmp_path,
        """
        import ctypes, faulthandler, resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.enable()

        def solution():
            ctypes.string_at(0)  # <- here
        """,
        code=-11,
    )
    assert "Segmentation fault" in dump
    assert standing(dump, path) == Standing(f"solution, kernel.py:{line}", line)


def in_pkwb(tmp_path: Path, name: str, function: str) -> str:
    """A dump taken inside a function of one of pkwb's own modules."""
    module = tmp_path / "workbench" / "ranks" / name
    module.parent.mkdir(parents=True)
    module.write_text(f"def {function}(call):\n    call()\n")
    dump, _path, _line = run(
        tmp_path,
        f"""
        import importlib.util
        spec = importlib.util.spec_from_file_location("module", {str(module)!r})
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        solution = lambda: module.{function}(dump)
        """,
    )
    return dump


@pytest.mark.parametrize(
    ("name", "function", "words"),
    [
        ("candidate.py", "_serve", "returned"),
        ("shared.py", "align", "waits for the other ranks before a timed call"),
        ("candidate.py", "other", "outside the file"),
    ],
)
def test_a_rank_outside_the_users_file_is_put_in_words(tmp_path: Path, name: str, function: str, words: str) -> None:
    """A rank that is done with the call, or has not begun it, is not shown at a line of the user's."""
    assert standing(in_pkwb(tmp_path, name, function), "/elsewhere/kernel.py") == Standing(words, 0)


@pytest.mark.parametrize("dump", ["", "no dump at all\n", '  File "x.py", line 3 in f\n'])
def test_no_stack_is_said(dump: str) -> None:
    """A rank whose stack could not be taken says so instead of pointing anywhere."""
    assert standing(dump, "x.py") == Standing("no stack could be taken", 0)
