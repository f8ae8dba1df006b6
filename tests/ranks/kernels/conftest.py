"""What the tests of raw kernels share: a cache folder of each test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own for what is kept, and nothing kept in this process."""
    from workbench.ranks.names.utils import kernels

    monkeypatch.setenv(kernels.CACHE, str(tmp_path / "kernels"))
    kernels._compiled.cache_clear()
    yield tmp_path / "kernels"
    kernels._compiled.cache_clear()
