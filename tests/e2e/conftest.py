"""Sittings: one that the tests of a file share, and ones of a test's own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.sitting import Sitting

_FAILED = pytest.StashKey[bool]()
Start = Callable[..., Sitting]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test failed, since the sitting that it shared is then in no known state, and show its screen."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
        sittings = [value for value in item.funcargs.values() if isinstance(value, Sitting)]  # type: ignore[attr-defined]
        report.sections += [("the screen", sitting.text) for sitting in sittings]
    return report


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache folder of all sittings: the link's peak is measured once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Start]:
    """Start a sitting of the test's own; ``folder`` may be that of an earlier one."""
    with ExitStack() as stack:

        def begin(folder: Path | None = None, *arguments: str, **more: Any) -> Sitting:
            place = tmp_path_factory.mktemp("sitting") if folder is None else folder
            return stack.enter_context(Sitting(place, *arguments, PKWB_CACHE_DIR=str(cache), **more))

        yield begin


class Shared:
    """A sitting for all tests of a file; another one takes its place after a failed test."""

    def __init__(self, folders: Iterator[Path], cache: Path) -> None:
        self._folders = folders
        self._cache = cache
        self._sitting: Sitting | None = None

    def get(self) -> Sitting:
        """The running one, or a new one."""
        if self._sitting is None or self._sitting.process.poll() is not None:
            self._sitting = Sitting(next(self._folders), PKWB_CACHE_DIR=str(self._cache)).ready()
        return self._sitting

    def end(self) -> None:
        """End it."""
        if self._sitting is not None:
            self._sitting.__exit__(None, None, None)
            self._sitting = None


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Shared]:
    """The file's sitting."""
    folders = (tmp_path_factory.mktemp("shared") for _ in itertools.count())
    one = Shared(folders, cache)
    yield one
    one.end()


@pytest.fixture
def sitting(request: pytest.FixtureRequest, shared: Shared) -> Iterator[Sitting]:
    """The shared sitting, at rest: the history is shown, the focus is in the editor, nothing runs."""
    one = shared.get()
    one.home()
    yield one
    if request.node.stash.get(_FAILED, False):
        shared.end()
