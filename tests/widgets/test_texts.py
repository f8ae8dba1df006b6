"""The panes that are read: problem, reference, topology, and the keys that all panes share."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import pytest

from tests.widgets import script
from tests.widgets.host import NARROW, SIZES, WIDE, Host, flowing, visible, watch_paint
from widgets.problem import ProblemPane
from widgets.reference import ReferencePane
from widgets.topline import TopLine
from widgets.topology import Drawing, TopologyPane
from workbench import aside
from workbench.events import GpuLoad, Telemetry
from workbench.target import SharedGpus
from workbench.topology.catalogue import find_system
from workbench.topology.placing import place


@pytest.mark.parametrize("size", SIZES)
async def test_problem(size: tuple[int, int]) -> None:
    """The problem reads: statement, shapes as symbols and numbers, tolerance in words, bytes to move."""
    pane = ProblemPane(script.make_target())
    async with Host(pane).run_test(size=size) as pilot:
        await pilot.pause()
        text = flowing(pane)

        assert "1  All-reduce" in visible(pane)
        assert "Every rank must return the sum of all of them." in text
        assert "tensor (M, N) = (1024, 1024) bfloat16" in text
        assert "out within the tolerance, |got - ref| <= 0.02 * rms(ref) + 0.02 * |ref|" in text
        assert "needed 2.10 MB over links" in text
        assert "all_reduce of 2.10 MB" in text
        assert all(len(line) <= size[0] for line in pane.lines.texts)


async def test_problem_tells_ranks_apart() -> None:
    """Where ranks return different shapes, each shape stands with its ranks."""
    target = script.make_target(world=3)
    output = dataclasses.replace(target.problem.outputs[0], shape=("P", "M"), elsewhere=())
    problem = dataclasses.replace(target.problem, outputs=(output,))
    binding = dataclasses.replace(target.binding, problem=problem)
    pane = ProblemPane(dataclasses.replace(target, problem=problem, binding=binding))
    async with Host(pane).run_test(size=WIDE) as pilot:
        await pilot.pause()

        assert "(P, M) on rank 0, () on the others = (3, 1024) on rank 0, () on rank 1, 2 bfloat16" in flowing(pane)


async def test_problem_is_wrapped_anew_when_resized() -> None:
    """After a resize the text is wrapped to the new width."""
    pane = ProblemPane(script.make_target())
    async with Host(pane).run_test(size=WIDE) as pilot:
        await pilot.pause()
        before = len(pane.lines.texts)
        await pilot.resize_terminal(*NARROW)
        await pilot.pause()

        assert len(pane.lines.texts) > before
        assert max(map(len, pane.lines.texts)) <= NARROW[0]


async def test_reference_has_line_numbers(tmp_path: Path) -> None:
    """The reference's code stands with its line numbers."""
    pane = ReferencePane(script.make_target(tmp_path))
    async with Host(pane).run_test(size=WIDE) as pilot:
        await pilot.pause()

        assert " 3  import torch" in visible(pane)
        assert "10      dist.all_reduce(result, op=dist.ReduceOp.SUM)" in visible(pane)


async def test_reference_is_copied_without_numbers(tmp_path: Path) -> None:
    """y copies the code as it is in the file."""
    pane = ReferencePane(script.make_target(tmp_path))
    app = Host(pane)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()
        await pilot.press("y")

        assert app.said == [script.REFERENCE]


async def test_missing_reference_is_said() -> None:
    """A reference that cannot be read is said in the pane, which goes on."""
    pane = ReferencePane(script.make_target(Path("/nowhere")))
    async with Host(pane).run_test(size=WIDE) as pilot:
        await pilot.pause()

        assert "the reference cannot be read" in visible(pane)


async def test_long_lines_can_be_scrolled_aside(tmp_path: Path) -> None:
    """l brings the right part of a long line into sight, h goes back."""
    pane = ReferencePane(script.make_target(tmp_path))
    async with Host(pane).run_test(size=NARROW) as pilot:
        await pilot.pause()
        assert "ReduceOp.SUM" not in visible(pane)
        await pilot.press("l", "l")
        assert "ReduceOp.SUM" in visible(pane)
        await pilot.press("h", "h", "h")
        assert " 1  " in visible(pane)


async def test_search_ignores_case_until_capitals_are_typed(tmp_path: Path) -> None:
    """Small letters find both cases; a capital letter finds itself alone; what is not there is said."""
    pane = ReferencePane(script.make_target(tmp_path))
    async with Host(pane).run_test(size=WIDE) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"reduceop", "enter")
        assert str(pane.query_one("#place").render()).strip() == "1 of 1"
        await pilot.press("escape", "slash", *"Reduceop", "enter")
        assert str(pane.query_one("#place").render()).strip() == "not found"
        await pilot.press("escape")
        assert not pane.searching


async def test_moving_keys(tmp_path: Path) -> None:
    """G goes to the end, g to the start, ctrl+d and ctrl+u half a page, j and k a line."""
    pane = ReferencePane(script.make_target(tmp_path))
    async with Host(pane).run_test(size=(60, 4)) as pilot:
        await pilot.pause()
        tops = []
        for key in ("j", "ctrl+d", "k", "G", "ctrl+u", "g"):
            await pilot.press(key)
            tops.append(int(visible(pane).split()[0]))

        assert tops == [2, 4, 3, 8, 6, 1]


async def test_text_is_not_moved_by_letters_typed_into_the_search(tmp_path: Path) -> None:
    """While a search is typed, letters are text and not keys."""
    pane = ReferencePane(script.make_target(tmp_path))
    async with Host(pane).run_test(size=(60, 6)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"jjGn")

        assert visible(pane).startswith(" 1  ")
        assert pane.query_one("Input").has_focus


async def test_mouse_selection_is_copied(tmp_path: Path) -> None:
    """Text that was selected with the mouse is what y copies, also after scrolling."""
    pane = ReferencePane(script.make_target(tmp_path))
    app = Host(pane)
    async with app.run_test(size=(60, 6)) as pilot:
        await pilot.pause()
        await pilot.press("j", "j")
        await pilot.mouse_down(pane.lines, offset=(4, 0))
        await pilot.hover(pane.lines, offset=(15, 1))
        await pilot.mouse_up(pane.lines, offset=(15, 1))
        await pilot.press("y")

        assert app.said == ["import torch\n 4  import torch"]


def drawing(world: int, device: str) -> Drawing:
    """A drawing that names what it was asked for, and what goes on at each rank."""
    return lambda width, live: [f"{world} {device} ranks", "-" * width, *(f"{rank}: {live[rank]}" for rank in live)]


async def test_problem_on_another_system() -> None:
    """With a what-if system the problem's figures end with the floor on it."""
    what_if = place(find_system("hgx-h200"), 2)
    pane = ProblemPane(dataclasses.replace(script.make_target(), what_if=what_if))
    async with Host(pane).run_test(size=NARROW) as pilot:
        await pilot.pause()

        assert "floor 5.66 us, link binds (link 4.66 us" in flowing(pane)
        assert "what if: NVIDIA HGX H200, 8 GPUs" in flowing(pane)


@pytest.mark.parametrize("size", SIZES)
async def test_topology_is_drawn_to_the_width(size: tuple[int, int]) -> None:
    """The topology is drawn at the pane's width, with the load of the machine above it."""
    pane = TopologyPane(script.make_target(), drawing)
    async with Host(pane).run_test(size=size) as pilot:
        await pane.workers.wait_for_complete()
        pane.show_view(script.show([script.telemetry()]))
        await pilot.pause()

        assert "2 cpu ranks" in visible(pane)
        assert "cpu 12% load 0.4 memory 3.00 GiB of 8.00 GiB" in flowing(pane)
        assert all(len(line) <= size[0] for line in pane.lines.texts)


@pytest.mark.parametrize("size", SIZES)
async def test_topology_shows_the_load_of_gpus(size: tuple[int, int]) -> None:
    """Each rank's GPU has a line with what its driver tells, and no figure that it does not."""
    known = GpuLoad(
        rank=0,
        busy_percent=97.0,
        memory_used_bytes=3 << 30,
        memory_total_bytes=141 << 30,
        clock_mhz=1980.0,
        power_watts=510.0,
        held_by="power, thermal",
    )
    shy = dataclasses.replace(known, rank=1, busy_percent=None, clock_mhz=None, power_watts=None, held_by=None)
    pane = TopologyPane(script.make_target(), drawing)
    async with Host(pane).run_test(size=size) as pilot:
        await pane.workers.wait_for_complete()
        pane.show_view(script.show([dataclasses.replace(script.telemetry(), gpus=(known, shy))]))
        await pilot.pause()

        line = "rank 0: gpu 97% memory 3.00 GiB of 141 GiB 1980 MHz held by power, thermal 510 W"
        assert f"{line} rank 1: memory 3.00 GiB of 141 GiB 2 cpu ranks" in flowing(pane)
        assert all(len(line) <= size[0] for line in pane.lines.texts)


async def test_topology_names_gpus_that_are_lost() -> None:
    """A rank whose GPU the driver says nothing of any more is named, beside the figures of the others."""
    known = GpuLoad(
        rank=0,
        busy_percent=1.0,
        memory_used_bytes=3 << 30,
        memory_total_bytes=141 << 30,
        clock_mhz=None,
        power_watts=None,
    )
    pane = TopologyPane(dataclasses.replace(script.make_target(world=3), device="cuda"), drawing)
    async with Host(pane).run_test(size=WIDE) as pilot:
        await pane.workers.wait_for_complete()
        pane.show_view(script.show([dataclasses.replace(script.telemetry(), gpus=(known,))]))
        await pilot.pause()

        assert "rank 1, 2: the driver tells nothing of the GPU; 'pkwb doctor' may say why" in flowing(pane)


async def test_topology_of_shared_gpus() -> None:
    """Ranks that share GPUs are told so, above the GPUs that are there; the first row of the screen names those."""
    target = dataclasses.replace(script.make_target(world=3), device="cuda", shared=SharedGpus(2, "2 × H200"))
    pane, top = TopologyPane(target, drawing), TopLine(target)
    async with Host(pane).run_test(size=NARROW) as pilot:
        await pane.workers.wait_for_complete()
        await pilot.pause()
        assert "3 ranks share 2 GPUs" in flowing(pane)
        assert "2 cuda ranks" in visible(pane)
    async with Host(top).run_test(size=WIDE):
        assert "3 ranks on 2 × H200" in str(top.content)


def _linked(rate: str) -> Drawing:
    return lambda width, live: [f"link {rate}"]


async def test_topology_shows_the_rate_once_measured() -> None:
    """A link whose rate was not known is drawn anew when the first bandwidth with a peak arrives."""
    rates = iter(("not known", "4.50 GB/s"))
    pane = TopologyPane(script.make_target(), lambda world, device: _linked(next(rates)))
    async with Host(pane).run_test(size=NARROW) as pilot:
        await pane.workers.wait_for_complete()
        assert "link not known" in visible(pane)
        pane.show_view(script.show(script.good_run(1)))
        await pane.workers.wait_for_complete()
        pane.show_view(script.show(script.good_run(2)))
        await pilot.pause()

        assert "link 4.50 GB/s" in visible(pane)


async def test_topology_of_two_rates_at_once() -> None:
    """When two rates arrive in the same moment the machine is looked at once more, not twice."""
    rates = iter(("not known", "4.50 GB/s"))
    pane = TopologyPane(script.make_target(), lambda world, device: _linked(next(rates)))
    async with Host(pane).run_test(size=NARROW) as pilot:
        await pane.workers.wait_for_complete()
        older = script.show(script.good_run(1))
        newer = script.show([script.seen(2), dataclasses.replace(script.bandwidth(2), peak_gbps=9.0)], older)
        pane.show_view(older)
        pane.show_view(newer)
        await pilot.pause()
        await pane.workers.wait_for_complete()

        assert "link 4.50 GB/s" in visible(pane)


async def test_topology_of_another_system() -> None:
    """A what-if system is named and drawn with the ranks on it; this machine is not looked at."""
    what_if = place(find_system("mi300x"), 2)
    pane = TopologyPane(dataclasses.replace(script.make_target(), what_if=what_if))
    async with Host(pane).run_test(size=NARROW) as pilot:
        await pane.workers.wait_for_complete()
        await pilot.pause()

        assert "what if: AMD Instinct MI300X platform, 8 GPUs (topology mi300x)" in flowing(pane)
        assert all(part in visible(pane) for part in ("rank 1", "gpu 7", "xGMI, 64 GB/s one way"))


async def test_topology_that_fails_is_said() -> None:
    """A machine that cannot be looked at is said in the pane, which goes on."""

    def broken(world: int, device: str) -> Drawing:
        raise OSError("no /sys here")

    pane = TopologyPane(script.make_target(), broken)
    async with Host(pane).run_test(size=WIDE) as pilot:
        await pane.workers.wait_for_complete()
        await pilot.pause()

        assert "the topology could not be found out: no /sys here" in visible(pane)


async def test_topology_of_a_driver_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that never ends is given up, said in the pane, and holds up no end of the program."""
    monkeypatch.setattr(aside, "ANSWER_S", 0.01)
    end = threading.Event()
    pane = TopologyPane(script.make_target(), lambda world, device: end.wait())  # type: ignore[arg-type,return-value]
    async with Host(pane).run_test(size=WIDE) as pilot:
        await pane.workers.wait_for_complete()
        await pilot.pause()

        assert "the topology could not be found out: no answer within 0.01 s" in visible(pane)
    end.set()


async def test_topology_that_is_found_at_the_second_look() -> None:
    """When a later look at the machine succeeds its drawing takes the place of what went wrong before."""
    answers = iter((OSError("no /sys yet"), _linked("4.50 GB/s")))

    def shaky(world: int, device: str) -> Drawing:
        found = next(answers)
        if isinstance(found, OSError):
            raise found
        return found

    pane = TopologyPane(script.make_target(), shaky)
    async with Host(pane).run_test(size=WIDE) as pilot:
        await pane.workers.wait_for_complete()
        pane.show_view(script.show(script.good_run(1)))
        await pilot.pause()
        await pane.workers.wait_for_complete()
        await pilot.pause()

        assert "link 4.50 GB/s" in visible(pane)
        assert "no /sys yet" not in visible(pane)


async def test_same_load_paints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load that reads the same as before repaints nothing."""
    pane = TopologyPane(script.make_target(), drawing)
    async with Host(pane).run_test(size=WIDE) as pilot:
        await pane.workers.wait_for_complete()
        pane.show_view(script.show([script.telemetry(12.0)]))
        await pilot.pause()
        painted = watch_paint(pane, monkeypatch)
        again: Telemetry = script.telemetry(12.2)
        pane.show_view(script.show([again]))
        assert painted == []
        pane.show_view(script.show([script.telemetry(55.0)]))

        assert painted == [0]
