"""What a model's proposals need of a sitting: the engine that judges them, and the store that keeps them.

Imported when a model is first asked, since it loads the templates of prompts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sessions.model import Proposed
from sessions.solves import Solves
from workbench.events import EventStream, Verdict
from workbench.llm.feedback import Collected
from workbench.llm.judging import Judging
from workbench.target import Source

if TYPE_CHECKING:
    from sessions.recorder import Recorder


class PoliteJudging(Judging):
    """Judges a proposal when the attempt that runs is over: a save of the user's is never superseded by a model."""

    async def judge(self, source: Source, proposed: Proposed | None, note: str = "") -> tuple[Verdict, Collected]:
        """The verdict and what was told meanwhile."""
        await self._idle()
        return await super().judge(source, proposed, note)


@dataclass(frozen=True)
class Bench:
    """Where proposals of one sitting are judged and kept."""

    runner: Any
    recorder: Recorder
    store: Any

    def judging(self, stream: EventStream) -> PoliteJudging:
        """What judges them."""
        return PoliteJudging(self.runner, self.recorder, stream)

    def solves(self) -> Solves:
        """What keeps them."""
        return Solves(self.store)
