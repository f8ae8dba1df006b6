"""What all tests share: folders of their own, so that nothing of the user's is read or written."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """State, cache and configuration folders that belong to one test, also for the programs it starts."""
    home = tmp_path_factory.mktemp("home")
    for kind in ("STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"PKWB_{kind}_DIR", str(home / kind.lower()))
    return home
