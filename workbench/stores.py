"""Opening the session store as the settings say."""

from __future__ import annotations

from pathlib import Path

from sessions.model import Standing
from sessions.store import Store
from workbench.config import Settings


def open_store(settings: Settings, *, create: bool = True, thorough: bool = True) -> Store:
    """The session store, as :meth:`sessions.store.Store.open` gives it."""
    path = Path(settings.sessions.path) if settings.sessions.path else None
    return Store.open(path, settings.sessions.keep, create=create, thorough=thorough)


def standings(settings: Settings) -> tuple[dict[str, Standing], str]:
    """What is known of each problem, by stem, and why that could not be read, empty when all is well; blocking."""
    store = open_store(settings, create=False, thorough=False)
    try:
        return store.standings(), store.problem_with
    finally:
        store.close()
