"""What panes ask of the app."""

from __future__ import annotations

from typing import Any

from textual import events

from widgets.messages import AttemptChosen, CopyRequested, JumpTo, ModelAsked, ProblemChosen, RankChosen
from workbench.app_actions import AppActions


class AppMessages(AppActions):
    """Mixin for the app: one short method for each message of a pane, none of which blocks."""

    def on_kernel_editor_left(self) -> None:
        """Escape in the editor goes to the results."""
        self.background(self.arrangement.go("verdict"), "go")

    async def on_jump_to(self, message: JumpTo) -> None:
        """A diagnostic was chosen: go to its line."""
        await self.arrangement.go("editor")
        self.editor_pane.editor.go_to(message.line, message.column)

    def on_problem_chosen(self, message: ProblemChosen) -> None:
        """A problem was chosen from the list: open it."""
        self.background(self.picking.choose(message.stem), "picking")

    def on_model_asked(self, message: ModelAsked) -> None:
        """Something is wanted of the language model."""
        self.background(self.desk.model.do(message.what, message.text), "model")

    def on_attempt_chosen(self, message: AttemptChosen) -> None:
        """An earlier attempt was chosen."""
        self.background(self.talk.show_attempt(message.attempt_id), "talk")

    async def on_rank_chosen(self, message: RankChosen) -> None:
        """A rank was chosen in the matrix: show its output."""
        await self.arrangement.go("log")
        pane: Any = self.panes["log"]
        pane.show_rank(message.rank)

    def on_copy_requested(self, message: CopyRequested) -> None:
        """A pane wants something copied."""
        self.talk.copy(message.text, message.what)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Remember which pane is active."""
        self.arrangement.focused(event.widget)
