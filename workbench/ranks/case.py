"""What an ``inputs.py`` of a problem gets: one rank's place in one trial, the declared arguments, secret generators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from workbench.ranks.groups import GroupOf
from workbench.ranks.tree import linear, sparse


@dataclass(frozen=True)
class Case:
    """One rank in one trial. Values drawn under the same name and ``same`` are equal on all ranks that ask for them;
    all come from the judge's secret seed.
    """

    rank: int
    world: int
    trial: int
    """0, 1, ...; what PKB's generators call trial."""
    stock: bool
    """The published distribution; otherwise the judged one."""
    dtype: torch.dtype
    """The run's dtype."""
    nonce: int
    """A secret number below 2**30, the same on all ranks."""
    size: SimpleNamespace
    """The problem's symbols as attributes, for example ``case.size.M``."""
    drawn: Mapping[str, Any]
    """The arguments that problem.toml describes, by name."""
    seeded: Callable[[str, int], torch.Generator]

    def generator(self, name: str, same: int | None = None) -> torch.Generator:
        """A generator for one purpose; ranks that give the same ``same`` get the same numbers (own rank if None)."""
        return self.seeded(name, self.rank if same is None else same)

    def normal(self, name: str, *shape: int, dtype: torch.dtype | None = None, same: int | None = None) -> torch.Tensor:
        """Normal values, mean 0 and standard deviation 1."""
        return torch.randn(shape, generator=self.generator(name, same), dtype=dtype or self.dtype)

    def uniform(
        self, name: str, *shape: int, dtype: torch.dtype | None = None, same: int | None = None
    ) -> torch.Tensor:
        """Uniform values in [0, 1)."""
        return torch.rand(shape, generator=self.generator(name, same), dtype=dtype or self.dtype)

    def integers(self, name: str, low: int, high: int, *shape: int, same: int | None = None) -> torch.Tensor:
        """Uniform integers in [low, high), int64."""
        return torch.randint(low, high, shape, generator=self.generator(name, same))

    group = staticmethod(GroupOf)
    linear = staticmethod(linear)
    sparse = staticmethod(sparse)
