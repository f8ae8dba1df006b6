"""What the tests of the comparison share: they hold for every size of chunk."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(
    params=[(1, 1), (3, 1), (3, 4), (1 << 22, 4)],
    ids=["chunks of 1", "chunks of 3", "chunks of 3 on threads", "one chunk"],
)
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every fact holds wherever the borders between chunks fall, and whoever compares them."""
    import torch

    from workbench.ranks import compare

    size, threads = request.param
    monkeypatch.setattr(compare, "_CHUNK", size)
    before = torch.get_num_threads()
    compare.use_threads(threads)
    yield
    compare.use_threads(1)
    torch.set_num_threads(before)
