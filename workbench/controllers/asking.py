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

    def move(self, stream: EventStream) -> None:
        """Tell another stream from now on; proposals count from 1 again."""

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


class Asking:
    """The one client of a sitting, made when a model is first wanted; problems that are opened later go on with it."""

    def __init__(self, make: ClientMaker, settings: LlmSettings) -> None:
        self._make, self._settings = make, settings
        self._client: Client | None = None

    def client(self, stream: EventStream) -> Client:
        """The client; a new one tells ``stream``."""
        if self._client is None:
            self._client = self._make(self._settings, stream)
        return self._client

    def move(self, stream: EventStream) -> None:
        """Another problem is on screen, which nothing was asked about yet."""
        if self._client is not None:
            self._client.move(stream)

    def cancel(self) -> None:
        """End all requests."""
        if self._client is not None:
            self._client.cancel()

    async def close(self) -> None:
        """End the process; safe to call twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
