"""Who asks models on behalf of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from workbench.config import LlmSettings
from workbench.events import EventStream, ProposalFinished

if TYPE_CHECKING:
    from workbench.llm.client import Facts, Messages


class Client(Protocol):
    """Asks a model; tests put a scripted one in its place."""

    def warm(self) -> None:
        """Get ready in the background."""

    async def facts(self) -> Facts:
        """What is known of the model."""

    async def ask(self, messages: Messages, left_usd: float | None = None) -> ProposalFinished:
        """The reply to a conversation."""

    def cancel(self) -> None:
        """End all requests."""

    async def close(self) -> None:
        """End the process."""


class ClientMaker(Protocol):
    """Makes a client for the model of the settings."""

    def __call__(self, settings: LlmSettings, stream: EventStream) -> Client:
        """The client, which does nothing yet."""


def make_client(settings: LlmSettings, stream: EventStream) -> Client:
    """The real one."""
    from workbench.llm.client import ModelClient

    return ModelClient(settings, stream)
