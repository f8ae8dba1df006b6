"""The base of all screens that cover the panes."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, ScreenResultType


class Dialog(ModalScreen[ScreenResultType]):
    """A screen that closes itself only: keys typed ahead may reach it when it is gone already."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close, with a result."""
        return super().dismiss(result) if self.is_current else AwaitComplete()
