"""The builder process leaves nothing behind."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from workbench.build import builder


def test_a_builder_that_fails_removes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the process, its scratch folder goes with it: the parent may be gone."""

    async def fail(*_arguments: object) -> None:
        raise OSError("no space left on device")

    home = tmp_path / "home"
    home.mkdir()
    (home / "builder.log").touch()
    monkeypatch.setattr(builder, "_serve", fail)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    options = {"python": "", "folder": str(tmp_path / "cache"), "limit_bytes": 1 << 20, "home": str(home)}
    with pytest.raises(OSError, match="no space"):
        builder.main(0, json.dumps(options))
    assert not home.exists()
