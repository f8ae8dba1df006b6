"""The real litellm in the real proposer process, asked by a client whose events are kept."""

from __future__ import annotations

import asyncio
from typing import Any

from workbench.config import LlmSettings
from workbench.events import Event, EventStream, ProposalFinished
from workbench.llm.client import Messages, ModelClient

GOOD = "def solution(tensor):\n    return tensor\n"
MESSAGES: Messages = [{"role": "user", "content": "Write it."}]


class Talk:
    """One client in a loop of its own, and what it told."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.events: list[Event] = []
        stream = EventStream()
        stream.subscribe(self.events.append)
        self.client = ModelClient(LlmSettings(model="openai/fake"), stream)

    def ask(self, url: str, messages: Messages = MESSAGES, left: float | None = None, **more: Any) -> ProposalFinished:
        """One reply from the server at ``url``."""
        return self.run(self.asking(url, messages, left, **more))

    def asking(self, url: str, messages: Messages = MESSAGES, left: float | None = None, **more: Any) -> Any:
        """The same, to be awaited."""
        self.events.clear()
        self.client.settings = LlmSettings(**{"model": "openai/fake", "api_base": url, "timeout": 20.0, **more})
        return self.client.ask(messages, left)

    def run(self, step: Any) -> Any:
        """Run one step to its end."""
        return self.loop.run_until_complete(asyncio.wait_for(step, 60))

    def close(self) -> None:
        """End the client's process and the loop."""
        self.run(self.client.close())
        self.loop.close()

    def of(self, kind: type[Event]) -> list[Any]:
        """What was told of one kind."""
        return [event for event in self.events if isinstance(event, kind)]
