"""Which panes are on screen: full or results only, one at a time on narrow screens or zoomed, hidden ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from widgets.frame import PLACE, PLACES, PaneStrip, TabbedRegion, frame_of

if TYPE_CHECKING:
    from workbench.app import Workbench

WIDE = 110
"""Columns from which panes stand side by side."""
TALL = 18
SMALLEST = Size(60, 15)
_AROUND = 3
"""Rows of the top line, the stages and the footer."""
_LEAST, _SPEED = 3, 24
"""Lines of the speed pane that are always in sight, and all that it has with GPUs and a floor."""
_FRAME = 2
_RIGHT = frozenset({"verdict", "speed"})


class LayoutControl:
    """Sets the style classes that the style sheet turns into layouts."""

    def __init__(self, app: Workbench, results: bool, hidden: Iterable[str] = ()) -> None:
        self._app = app
        self._zoomed = False
        self._hidden = set(hidden)
        self.on_change: Callable[[], None] = lambda: None
        """Called when layout or hidden panes may have changed."""
        self.size = Size(0, 0)
        """Size of the terminal in cells."""
        self.results = results
        """Whether only results are shown, for people with their own editor."""
        self._hidden = self._hidden if self._open(self._hidden) else set()
        self.active = self._open(self._hidden)[0]
        """Name of the pane that was focused last."""

    @property
    def hidden(self) -> tuple[str, ...]:
        """Hidden frames."""
        return tuple(sorted(self._hidden))

    @property
    def _screen(self) -> Screen[object]:
        return self._app.screen_stack[0]

    @property
    def paged(self) -> bool:
        """Whether one region is shown at a time."""
        return self._zoomed or self.narrow

    @property
    def narrow(self) -> bool:
        """Whether the terminal is too small for panes side by side."""
        return self.size.width < WIDE or self.size.height < TALL

    @property
    def tiny(self) -> bool:
        """Whether the terminal is too small for anything."""
        return self.size.width < SMALLEST.width or self.size.height < SMALLEST.height

    def begin(self, size: Size) -> None:
        """A problem was put on screen; a narrow screen begins with the results."""
        self.size = size
        self.active = "verdict" if self.narrow else self._open(self._hidden)[0]
        self.apply()
        focus_inside(self._screen.query_one(f"#{self.active}"))

    def resize(self, size: Size) -> None:
        """Fit a new terminal size."""
        self.size = size
        self.apply()

    def apply(self) -> None:
        """Bring the style classes up to date."""
        if self._app.open_desk is None:
            return
        screen = self._screen
        region = PLACE[self.active].region
        screen.set_class(self.paged, "-paged")
        screen.set_class(self.results, "-results")
        screen.set_class(self.tiny, "-tiny")
        for name in {place.region for place in PLACES}:
            screen.set_class(self.paged and name == region, f"-page-{name}")
        gone = set() if self.paged else self._gone()
        for name in {"main", "right", *map(frame_of, PLACE)}:
            self._screen.query_one(f"#{name}").set_class(name in gone, "-hidden")
        self.share_rows()
        without = {"editor"} if self.results else set()
        self._screen.query_one(PaneStrip).show(self.active, without, self.size.width)
        self.on_change()

    def share_rows(self) -> None:
        """Heights: what the verdict must show comes first, then as much of the speed as there is room for."""
        pane: Any = self._app.panes.get("verdict")
        if pane is None or not pane.is_attached:
            return
        gone = set() if self.paged else self._gone()
        height, frame = self.size.height, 1 if self.paged else _FRAME
        bottom = self._bottom_height(height)
        room = height - _AROUND - (1 if self.paged else 0 if "bottom" in gone else bottom)
        verdict = pane.wanted + (0 if self.paged else _FRAME)
        speed = max(_LEAST + frame, min(_SPEED + frame, room - verdict))
        self._screen.query_one("#speed").styles.height = "1fr" if "verdict" in gone else speed
        self._screen.query_one("#bottom").styles.height = "1fr" if self.paged or "main" in gone else bottom

    def _bottom_height(self, height: int) -> int:
        """Rows of the region below; a conversation with a model needs more of them."""
        talking = self._screen.query_one("#bottom", TabbedRegion).active == "model"
        return height * 2 // 5 if talking else max(7, min(12, height // 5))

    def _gone(self) -> set[str]:
        """Hidden frames, and what holds nothing but hidden frames."""
        gone = set(self._hidden)
        if gone >= _RIGHT:
            gone.add("right")
        if gone >= {"left", "right"} and ("editor-pane" in gone or self.results):
            gone.add("main")
        return gone

    def _open(self, hidden: set[str]) -> list[str]:
        """Panes that are not hidden; those to begin with come first."""
        names = dict.fromkeys(("editor", "verdict", *PLACE))
        return [name for name in names if frame_of(name) not in hidden and not (self.results and name == "editor")]

    async def go(self, name: str) -> None:
        """Show a pane and put the focus into it."""
        place = PLACE[name]
        self.results = self.results and name != "editor"
        self._hidden.discard(frame_of(name))
        self.active = name
        region = self._screen.query_one(f"#{place.region}")
        if isinstance(region, TabbedRegion):
            await region.show(name)
        self.apply()
        focus_inside(region.query_one(f"#{name}"))

    def focused(self, widget: Widget) -> None:
        """The focus went into a pane: it is the active one."""
        for node in widget.ancestors_with_self:
            name = node.id or ""
            if name in PLACE and name != self.active:
                self.active = name
                self.apply()

    async def toggle_results(self) -> None:
        """From full to results only, and back."""
        self.results = not self.results
        await self.go("verdict" if self.results else "editor")

    def zoom(self) -> None:
        """Give the active pane the whole screen, or take it back."""
        self._zoomed = not self._zoomed
        self.apply()

    async def hide(self) -> str:
        """Hide the active pane and go to another; the words for the user."""
        hidden = self._hidden | {frame_of(self.active)}
        names = self._open(hidden)
        if self.paged:
            return "one pane is shown at a time here: go to another with its number"
        if not names:
            return "the last pane stays"
        self._hidden = hidden
        await self.go(names[0])
        return "hidden; go to it (ctrl+o and its number) to bring it back"

    def show_all(self) -> None:
        """Bring every pane back."""
        self._hidden.clear()
        self._zoomed = False
        self.apply()


def focus_inside(widget: Widget) -> None:
    """Focus a pane, or the first widget in it that takes keys."""
    if widget.focusable:
        widget.focus()
        return
    for child in widget.query("*"):
        if child.focusable:
            child.focus()
            return
