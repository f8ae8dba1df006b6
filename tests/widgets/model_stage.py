"""The app on a stage with a scripted model: go to its pane, ask, look at the proposal."""

from __future__ import annotations

from typing import Any

from tests.widgets.host import flowing
from tests.widgets.model_script import MODEL
from tests.widgets.stage import Stage
from widgets.problem_list import ProblemList
from widgets.screens.picker import PickerScreen
from widgets.screens.proposal import ProposalScreen
from workbench.config import LlmSettings

LLM = LlmSettings(model=MODEL)


async def go(place: Stage, *keys: str) -> None:
    """Go to the model pane and press keys there."""
    await place.app.run_action("focus_pane('model')")
    await place.until(lambda: place.app.focused is pane(place).lines)
    await place.pilot.press(*keys)


async def ask(place: Stage) -> None:
    """Go to the model pane, ask, and wait until the reply is over."""
    before = len(place.app.view.talk.exchanges)
    await go(place, "p")
    await place.until(lambda: len(place.app.view.talk.exchanges) > before and not place.app.desk.model.busy)
    await place.pilot.pause()


def pane(place: Stage) -> Any:
    """The model pane."""
    return place.app.panes["model"]


def said(place: Stage) -> str:
    """What the model pane says, its state first."""
    return f"{pane(place).query_one('#model-state').content} {flowing(pane(place))}"


async def diff(place: Stage) -> ProposalScreen:
    """The proposal beside the text."""
    await place.pilot.press("d")
    await place.until(
        lambda: isinstance(place.app.screen, ProposalScreen) and place.app.screen.query("#proposal-body *")
    )
    screen = place.app.screen
    assert isinstance(screen, ProposalScreen)
    return screen


async def another(place: Stage) -> None:
    """Open another problem, by the list."""
    await place.pilot.press("ctrl+t")
    await place.until(
        lambda: isinstance(place.app.screen, PickerScreen) and place.app.screen.query_one(ProblemList).stem
    )
    await place.pilot.press("4", "2", "enter")
    await place.until(lambda: len(place.app.screen_stack) == 1 and place.app.target.problem.number == 42)
    await place.until(lambda: len(place.runners) == 2 and place.runners[1].given)
    place.runner = place.runners[1]
    place.runner.end()
