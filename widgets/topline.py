"""The first row: what is judged, on what, and whether the ranks are ready."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from widgets.state import RunView
from workbench.target import Target


class TopLine(Static):
    """Problem, parallelism, backend, ranks, size and dtype on the left; the ranks' state on the right."""

    def __init__(self, target: Target) -> None:
        super().__init__(id="top", markup=False)
        self._target = target
        self._state = "ranks starting"

    def on_mount(self) -> None:
        """Show the line at once."""
        self._draw()

    def on_resize(self) -> None:
        """Fit the new width."""
        self._draw()

    def show_view(self, view: RunView) -> None:
        """Follow the ranks' state."""
        state = "ranks starting" if view.ready is None else "running" if view.busy else "ranks ready"
        if view.watch is not None and view.watch.gone:
            state = f"the file is gone · {state}"
        elif view.watch is not None and view.watch.mode == "poll":
            state = f"polling the file · {state}"
        self.show_state(state)

    def show_state(self, state: str) -> None:
        """Put ``state`` on the right."""
        if state != self._state:
            self._state = state
            self._draw()

    def _draw(self) -> None:
        width = self.size.width or self.app.size.width
        left = self._fitting(width - len(self._state) - 4)
        gap = " " * max(2, width - sum(map(len, left)) - 3 * (len(left) - 1) - len(self._state) - 2)
        more = "".join(f" · {part}" for part in left[1:])
        self.update(Content.assemble(" ", (left[0], "bold"), more, gap, self._state))

    def _fitting(self, width: int) -> list[str]:
        """The parts that fit, the least needed dropped first."""
        parts = self._parts()
        while len(parts) > 1 and sum(map(len, parts)) + 3 * (len(parts) - 1) > width:
            parts.pop()
        return parts

    def _parts(self) -> list[str]:
        target = self._target
        problem, binding = target.problem, target.binding
        parts = [f"pkwb  {problem.stem}", target.place, f"{binding.size} {binding.dtype}", target.backend]
        return [*parts, *([" ".join(problem.parallelism)] if problem.parallelism else [])]
