"""Loading a candidate: what its file must offer, and how its errors are told."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from workbench.ranks.failures import failure
from workbench.ranks.loading import MODULE, NoSolution, load

PATH = "/home/someone/solutions_pytorch/1_allreduce_pytorch.py"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Nothing of a loaded file stays for other tests."""
    yield
    sys.modules.pop(MODULE, None)
    linecache.cache.pop(PATH, None)


def loaded(text: str, *arguments: str) -> Any:
    return load(dedent(text), PATH, list(arguments))


def told(text: str, *arguments: str, call: tuple[Any, ...] = ()) -> dict[str, Any]:
    """What the rank reports of a file that fails while it is loaded or called."""
    with pytest.raises(BaseException) as found:  # noqa: PT011 - any error of the user's, SystemExit included
        loaded(text, *arguments)(*call)
    return failure(found.value, PATH)


@pytest.mark.parametrize(
    "text",
    [
        "def solution(a, b): return a + b",
        "def solution(a, b, c=3): return a + b",
        "def solution(a, b, *, scale=1.0): return a + b",
        "def solution(a, b=None): return a + b",
        "def solution(*args): return sum(args)",
        "def solution(*args, **kwargs): return sum(args)",
        "def solution(x, y): return x + y",
        "solution = lambda a, b: a + b",
        "import operator\nsolution = operator.add",
        "class Kernel:\n    def __call__(self, a, b): return a + b\nsolution = Kernel()",
        "import functools\nsolution = functools.partial(lambda k, a, b: a + b, 0)",
    ],
)
def test_callables_that_take_the_arguments_are_accepted(text: str) -> None:
    """Names are free, defaults and stars are fine, and anything callable will do."""
    assert loaded(text, "a", "b")(1, 2) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file defines no function `solution`; it needs solution(a, b)"),
        ("def solve(a, b): return a", "the file defines no function `solution`; it needs solution(a, b)"),
        ("solution = None", "the file defines no function `solution`; it needs solution(a, b)"),
        ("solution = 3", "`solution` is a int, not a function; it needs to be solution(a, b)"),
        ("def solution(a): return a", "solution(a) cannot be called as solution(a, b)"),
        ("def solution(a, b, c): return a", "solution(a, b, c) cannot be called as solution(a, b)"),
        ("def solution(): return 1", "solution() cannot be called as solution(a, b)"),
        ("def solution(a, b, *, c): return a", "solution(a, b, *, c) cannot be called as solution(a, b)"),
    ],
)
def test_files_without_a_usable_solution_say_what_is_due(text: str, words: str) -> None:
    """A missing function, a thing that cannot be called and a wrong signature are told with the call that is due."""
    with pytest.raises(NoSolution) as found:
        loaded(text, "a", "b")
    assert str(found.value).startswith(words)
    assert failure(found.value, PATH)["message"].startswith(words)


def test_syntax_errors_have_their_place() -> None:
    """A syntax error is reported at its line and column, with the words of Python."""
    report = told("x = 1\ndef solution(a):\n    return a +\n")
    assert (report["type"], report["line"]) == ("SyntaxError", 3)
    assert report["column"] > 0
    assert "invalid syntax" in report["message"]
    assert "return a +" in report["text"]


def test_indentation_errors_are_syntax_errors() -> None:
    """A wrong indent has its line as well."""
    report = told("def solution(a):\nreturn a\n")
    assert (report["type"], report["line"]) == ("IndentationError", 2)


def test_null_bytes_are_told() -> None:
    """Text that Python cannot compile for another reason is an error with words, not a crash of the rank."""
    assert "null bytes" in told("def solution(a):\n    return '\0'\n")["message"]


def test_import_errors_have_their_line() -> None:
    """An import that fails is reported at its line."""
    report = told("import os\nimport surely_not_installed\ndef solution(a): return a\n")
    assert (report["type"], report["line"]) == ("ModuleNotFoundError", 2)
    assert "surely_not_installed" in report["message"]


def test_exit_while_loading_is_told() -> None:
    """A file that calls exit() did not load, and the message says so."""
    report = told("import sys\nsys.exit(3)\n")
    assert (report["type"], report["message"], report["line"]) == ("SystemExit", "the file called exit(3)", 2)


def test_tracebacks_begin_at_the_users_frame() -> None:
    """The traceback shows the user's lines with their text, and none of pkwb's own frames."""
    report = told(
        """
        def helper(a):
            return a / 0

        def solution(a):
            return helper(a)
        """,
        "a",
        call=(1,),
    )
    assert (report["type"], report["line"]) == ("ZeroDivisionError", 3)
    lines = report["text"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].strip() == f'File "{PATH}", line 6, in solution'
    assert lines[2].strip() == "return helper(a)"
    assert "workbench" not in report["text"]
    assert report["text"].strip().endswith("ZeroDivisionError: division by zero")


def test_the_line_shown_is_the_innermost_of_the_users() -> None:
    """An exception from deep inside a library is shown at the user's line that led there."""
    report = told("import json\n\ndef solution(a):\n    return json.loads(a)\n", "a", call=("{",))
    assert (report["type"], report["line"]) == ("JSONDecodeError", 4)
    assert "json/decoder.py" in report["text"]


def test_errors_outside_the_file_have_no_line() -> None:
    """An exception without a frame of the user's keeps its message, points nowhere and shows no traceback of pkwb."""
    report = failure(ValueError("elsewhere"), PATH)
    assert (report["line"], report["column"], report["message"]) == (0, 0, "elsewhere")
    assert report["text"] == ""


def test_long_messages_are_cut() -> None:
    """An exception with a message of megabytes does not flood the screen."""
    report = failure(ValueError("x" * 1_000_000), PATH)
    assert len(report["message"]) <= 2_000
    assert len(report["text"]) <= 16_000


def test_empty_messages_name_the_type() -> None:
    """An exception without words still says what it is."""
    assert failure(AssertionError(), PATH)["message"] == "AssertionError"


@pytest.mark.parametrize(
    ("error", "secondary"),
    [
        (RuntimeError("[..] Connection closed by peer [127.0.0.1]:38261"), True),
        (RuntimeError("Read timeout: Connection reset by peer"), True),
        (RuntimeError("writev: Broken pipe"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("connection closed by peer"), False),
    ],
)
def test_a_lost_peer_is_told_from_an_own_failure(error: Exception, secondary: bool) -> None:
    """A collective that fails because another rank went away is a consequence, not a cause."""
    assert failure(error, PATH)["secondary"] == secondary


def test_source_of_the_loaded_version_can_be_read() -> None:
    """Tools that read a function's source, such as kernel compilers, see the text that was loaded."""
    solution = loaded("def solution(a):\n    return a  # as saved\n", "a")
    assert inspect.getsource(solution) == "def solution(a):\n    return a  # as saved\n"
    assert solution.__module__ == MODULE
    assert sys.modules[MODULE].solution is solution


def test_the_saved_text_counts_not_the_disk(tmp_path: Path) -> None:
    """A file that has changed on disk since the save is run, shown and inspected as it was saved."""
    path = tmp_path / "kernel.py"
    path.write_text("def solution(a):\n    return 'newer'\n")
    solution = load("def solution(a):\n    return 'saved'\n", str(path), ["a"])
    try:
        assert solution(1) == "saved"
        assert "saved" in inspect.getsource(solution)
        assert sys.modules[MODULE].__file__ == str(path)
    finally:
        linecache.cache.pop(str(path), None)


def test_own_future_imports_do_not_leak_into_the_file() -> None:
    """The user's annotations are evaluated, or not, as their own file says."""
    assert loaded("def solution(a: int): return a\n", "a").__annotations__ == {"a": int}
