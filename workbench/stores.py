"""Opening the session store as the settings say."""

from __future__ import annotations

import sys
from pathlib import Path

from sessions.store import Store
from workbench.config import Settings


def open_store(settings: Settings, *, create: bool = True, thorough: bool = True) -> Store:
    """The session store, as :meth:`sessions.store.Store.open` gives it."""
    path = Path(settings.sessions.path) if settings.sessions.path else None
    return Store.open(path, settings.sessions.keep, create=create, thorough=thorough)


def look_into_store(settings: Settings) -> Store:
    """The session store for reading: nothing is created, and trouble is told on stderr."""
    store = open_store(settings, create=False, thorough=False)
    if store.problem_with:
        print(f"pkwb: {store.problem_with}", file=sys.stderr)
    return store
