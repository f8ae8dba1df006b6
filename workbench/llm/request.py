"""One request in litellm's terms: model, key, length of the reply, price. litellm itself is handed in."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.llm.failures import Asked
from workbench.llm.pricing import LEAST_REPLY, Prices, find_prices
from workbench.ranks.channel import Message

if TYPE_CHECKING:
    from types import ModuleType

    from workbench.llm.answer import Answer

Tokens = tuple[int, int]
"""Sent and replied."""


_MOST_TOKENS = 1_000_000_000


class BudgetSpent(Exception):
    """What is left does not pay for a reply."""


class Request:
    """What the parent asked for, as a message of ``ask`` or ``facts``."""

    def __init__(self, litellm: ModuleType, message: Message) -> None:
        self._litellm = litellm
        self._message = message

    @cached_property
    def listed(self) -> dict[str, Any]:
        """What litellm's list says of the model; empty for one that it does not have."""
        try:
            return dict(self._litellm.get_model_info(self._message["model"]))
        except Exception:
            return {}

    @cached_property
    def prices(self) -> Prices:
        """What tokens cost."""
        sent, replied = self._message["prices"]
        return find_prices((sent, replied), self.listed)

    def asked(self) -> Asked:
        """The request as messages to people name it."""
        return Asked(self._message["model"], self._key_words(), self._message["timeout"])

    def options(self) -> dict[str, Any]:
        """The arguments of the completion; BudgetSpent where what is left pays for no reply."""
        message, key = self._message, self._key()
        return {
            "model": self._model(),
            "messages": message["messages"],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": self._longest(),
            "max_retries": 0,
            "num_retries": 0,
            "timeout": message["timeout"],
            **({"api_base": message["api_base"]} if message["api_base"] else {}),
            **({"api_key": key} if key else {}),
        }

    def bill(self, answer: Answer) -> tuple[Tokens, float | None]:
        """Tokens and their cost: by the provider's own count, an estimate where it gave none."""
        tokens = _counted(answer.usage)
        if tokens is None:
            return self._estimate(answer)
        if max(self._message["prices"]) >= 0:
            return tokens, self.prices.cost(*tokens)
        try:
            # Knows what cached tokens cost.
            whole = self._litellm.stream_chunk_builder(answer.chunks)
            return tokens, float(self._litellm.completion_cost(completion_response=whole, model=self._message["model"]))
        except Exception:
            return tokens, self.prices.cost(*tokens)

    def _estimate(self, answer: Answer) -> tuple[Tokens, float | None]:
        if answer.first_token_s is None:
            return (0, 0), 0.0
        replied = self._litellm.token_counter(model=self._message["model"], text=answer.thinking + answer.text)
        tokens = (self._sent(), int(replied))
        return tokens, self.prices.cost(*tokens)

    def _sent(self) -> int:
        return int(self._litellm.token_counter(model=self._message["model"], messages=self._message["messages"]))

    def _longest(self) -> int:
        message = self._message
        most = min(message["max_tokens"], self.listed.get("max_output_tokens") or message["max_tokens"])
        if message["left_usd"] is None:
            return int(most)
        paid = self.prices.longest_reply(self._sent(), message["left_usd"])
        if paid < LEAST_REPLY:
            left = f"${message['left_usd']:.4f} of the budget are left"
            raise BudgetSpent(f"{left}, which does not pay for another reply")
        return int(min(most, paid))

    def _model(self) -> str:
        """The model's name; at an address of the user's own, one without a provider is an OpenAI-compatible one."""
        name: str = self._message["model"]
        if not self._message["api_base"]:
            return name
        try:
            self._litellm.get_llm_provider(name)
        except Exception:
            return f"openai/{name}"
        return name

    def _key(self) -> str:
        """The key for an address of the user's own; empty where litellm finds the provider's by itself."""
        if self._message["key_env"]:
            return os.environ.get(self._message["key_env"], "")
        own_server = self._message["api_base"] and self._model().startswith("openai/")
        return "none" if own_server and not os.environ.get("OPENAI_API_KEY") else ""

    def _key_words(self) -> str:
        if self._message["key_env"]:
            return str(self._message["key_env"])
        try:
            found = self._litellm.validate_environment(model=self._model())
            usual = f"{self._litellm.get_llm_provider(self._model())[1].upper()}_API_KEY"
            names = found.get("missing_keys") or [name for name in (usual,) if name in os.environ]
        except Exception:
            names = []
        return ", ".join(names) or "the provider's variable in the environment"


def _counted(usage: Any) -> Tokens | None:
    """The provider's count; None where there is none that can be."""
    found = tuple(getattr(usage, name, None) or 0 for name in ("prompt_tokens", "completion_tokens"))
    if not any(found) or not all(isinstance(number, int) and 0 <= number <= _MOST_TOKENS for number in found):
        return None
    return found[0], found[1]
