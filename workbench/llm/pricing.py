"""What a request costs, and how long a reply may get before it costs more than is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MILLION = 1e6
LEAST_REPLY = 256
"""Tokens; a request that leaves room for less is not sent."""
_MARGIN = 1.1
"""Counts of tokens before a request is sent are estimates."""


@dataclass(frozen=True)
class Prices:
    """US dollars a token; None where no price is known."""

    sent: float | None
    replied: float | None

    @property
    def known(self) -> bool:
        """Whether a budget can be held."""
        return self.sent is not None and self.replied is not None

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars; None where no price is known."""
        if self.sent is None or self.replied is None:
            return None
        return tokens_in * self.sent + tokens_out * self.replied

    def longest_reply(self, tokens_in: int, left_usd: float) -> float:
        """Tokens of a reply that what is left pays for; infinite where replies are free or no price is known."""
        if self.sent is None or not self.replied:
            return float("inf")
        return (left_usd - tokens_in * _MARGIN * self.sent) / self.replied


def find_prices(settings: tuple[float, float], listed: Mapping[str, Any]) -> Prices:
    """Prices of the settings, in US dollars a million tokens, else those of litellm's list."""
    names = ("input_cost_per_token", "output_cost_per_token")
    sent, replied = (
        given / _MILLION if given >= 0 else listed.get(name) for given, name in zip(settings, names, strict=True)
    )
    return Prices(sent, replied)
