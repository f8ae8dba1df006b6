"""What the tests of the flow share: a sitting for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flow.sitting import Sitting


@pytest.fixture(scope="module")
def sitting() -> Iterator[Sitting]:
    """One sitting on problem 1 for the whole module."""
    made = Sitting("1")
    yield made
    made.close()
