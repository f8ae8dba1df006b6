"""From whoever tells an event to whoever listens."""

from __future__ import annotations

from collections.abc import Callable

from workbench.events.base import Event

Sink = Callable[[Event], None]


class EventStream:
    """Hands every event to every subscriber, in order, in the calling thread."""

    def __init__(self) -> None:
        self._sinks: list[Sink] = []

    def subscribe(self, sink: Sink) -> Callable[[], None]:
        """Add a subscriber; call the result to take it away again."""
        self._sinks.append(sink)
        return lambda: self._sinks.remove(sink)

    def emit(self, event: Event) -> None:
        """Deliver one event."""
        for sink in tuple(self._sinks):
            sink(event)
