"""However the program ends, and whatever of its own is killed: no process is left behind, and no text is lost."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from tests.e2e import candidates
from tests.e2e.conftest import Start
from tests.e2e.processes import kill, with_argument, zygote_of
from tests.e2e.sitting import Sitting

VERDICT, EDITOR = "5 Verdict", "1_allreduce_pytorch.py"


def _quit(sitting: Sitting) -> int:
    sitting.press("quit")
    sitting.sees("Quit", "A run is active.")
    sitting.press("y")
    return sitting.ended()


def _hang_up(sitting: Sitting) -> int:
    sitting.hang_up()
    return sitting.ended()


def _signal(number: signal.Signals) -> Callable[[Sitting], int]:
    def send(sitting: Sitting) -> int:
        sitting.process.send_signal(number)
        return sitting.ended()

    return send


@pytest.mark.parametrize(
    ("end", "code"),
    [
        pytest.param(_quit, 0, id="quit"),
        pytest.param(_hang_up, 128 + signal.SIGHUP, id="terminal closed"),
        pytest.param(_signal(signal.SIGHUP), 128 + signal.SIGHUP, id="SIGHUP"),
        pytest.param(_signal(signal.SIGTERM), 128 + signal.SIGTERM, id="SIGTERM"),
        pytest.param(_signal(signal.SIGKILL), -signal.SIGKILL, id="SIGKILL"),
    ],
)
def test_end_in_the_middle_of_a_run(start: Start, end: Callable[[Sitting], int], code: int) -> None:
    """An end in the middle of a run leaves no rank, no process that a candidate started, and no temporary file."""
    word = f"86390.{abs(code)}"
    sitting = start().ready()
    sitting.look()
    sitting.run_until(candidates.hangs_with_sleepers(word), "stands at")
    sitting.wait(lambda: len(with_argument(word)) == 2)
    assert len(sitting.look()) >= 1 + 2 * 3

    assert end(sitting) == code
    sitting.gone()
    assert with_argument(word) == []


def test_quit_at_rest(start: Start) -> None:
    """Quitting with nothing to lose asks nothing, gives the terminal back, and leaves no process."""
    sitting = start().ready()
    sitting.look()
    sitting.press("quit")

    assert sitting.ended() == 0
    sitting.gone()
    assert b"\x1b[?1049l" in sitting.raw


def test_text_after_kill_9(start: Start) -> None:
    """Text that was not saved when the program was killed is offered at the next start; the history is there too."""
    killed = start().ready()
    killed.type_at_top("# precious")
    killed.wait(lambda: list(killed.folder.glob("state/recovery/*.json")))
    kill(killed.process.pid)
    killed.process.wait()
    before = killed.path.read_text()

    sitting = start(killed.folder)
    sitting.sees("Unsaved text was found", "# precious")
    sitting.press("r")
    sitting.sees(EDITOR, "# precious")
    sitting.until("not saved")
    assert sitting.path.read_text() == before
    sitting.sees("7 History", "#1 ", "id 1 ")
    sitting.press("save")
    assert sitting.verdict(2) == "ok"
    assert sitting.path.read_text() == f"# precious\n{before}"


def test_zygote_killed_at_rest(sitting: Sitting) -> None:
    """When the process that forks the ranks is killed, the next save starts ranks anew, says so, and is judged."""
    sitting.look()
    kill(zygote_of(sitting.process.pid))
    number = sitting.latest
    sitting.save(candidates.good("after the zygote was killed"))
    sitting.told("ranks are started anew")

    assert sitting.verdict(number + 1) == "ok"
    sitting.wait(lambda: not sitting.left())


def test_zygote_killed_in_the_middle_of_a_run(sitting: Sitting) -> None:
    """The same in the middle of a run: its ranks end, it is tried once more, and the next save is judged."""
    number = sitting.run_until(candidates.HANGS_ON_1, "stands at")
    sitting.look()
    kill(zygote_of(sitting.process.pid))
    sitting.told("ranks are started anew")
    sitting.wait(lambda: not sitting.left())
    sitting.save(candidates.good("after it was killed in a run"))

    assert sitting.verdict(number) == "superseded"
    assert sitting.verdict(number + 1) == "ok"


def test_waiting_ranks_killed(sitting: Sitting) -> None:
    """When ranks that stand by are killed, the next save is judged all the same."""
    zygote = zygote_of(sitting.process.pid)
    for process in sitting.look():
        if process.parent == zygote:
            kill(process.pid)

    assert sitting.judge(candidates.good("after all ranks were killed")) == "ok"
