"""Stores that are closed when their test ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sessions.store import Store

Stores = Callable[..., Store]


@pytest.fixture
def stores() -> Iterator[Stores]:
    """Opens the store at a path as ``Store.open`` does, or one in memory without a path."""
    with ExitStack() as stack:

        def open_store(path: Path | None = None, **options: Any) -> Store:
            store = Store.memory() if path is None else Store.open(path, **options)
            stack.callback(store.close)
            return store

        yield open_store
