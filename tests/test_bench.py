"""``pkwb bench links`` from outside."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import descendants, left_of
from tests.program import environment, pkwb
from tests.rates import rate, report
from workbench.cli import main
from workbench.judge.links import LinkReport, find_ceilings


def test_json_and_ceilings(tmp_path: Path) -> None:
    """The JSON holds every rate, the ceilings and where they are kept; the same ceilings are found afterwards."""
    done = pkwb("bench", "links", "--device", "cpu", "--ranks", "2", "--largest", "32M", "--json", cwd=tmp_path)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert (found["device"], found["world"]) == ("cpu", 2)
    assert {entry["bytes"] for entry in found["rates"]} >= {2048, 32 << 20}
    assert all(entry["verified"] for entry in found["rates"])
    assert Path(found["kept"]).is_file()
    assert [kept.gbps for kept in find_ceilings("cpu", 2)] == [entry["gbps"] for entry in found["ceilings"]]
    assert "measuring shared memory" in done.stderr


def test_damaged_data_end_with_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """When data arrive damaged the table says so and the exit code is that of a broken machine."""

    async def measured(*_arguments: object) -> LinkReport:
        return report(rate("copy engine", 392, verified=False))

    monkeypatch.setattr("workbench.flow.links.measure_links", measured)
    assert main(["bench", "links", "--device", "cpu"]) == 3
    said = capsys.readouterr()
    assert "wrong data" in said.out
    assert "check the links" in said.err
    assert find_ceilings("cuda", 2) == ()


def test_unwritable_cache_costs_nothing_but_the_cache(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], own_folders: Path
) -> None:
    """Without a cache the figures are printed all the same, and stderr says that they are not kept."""

    async def measured(*_arguments: object) -> LinkReport:
        return report(rate("copy engine", 392))

    monkeypatch.setattr("workbench.flow.links.measure_links", measured)
    (own_folders / "cache").write_text("a file is in the way")
    assert main(["bench", "links", "--device", "cpu"]) == 0
    said = capsys.readouterr()
    assert "392" in said.out
    assert "no ceilings are kept" in said.err


def test_small_messages_make_no_ceilings(tmp_path: Path) -> None:
    """Messages that a cache may hold leave the ceilings that are known as they are, and stderr says what is missing."""
    done = pkwb("bench", "links", "--device", "cpu", "--largest", "4K", cwd=tmp_path)
    assert done.returncode == 0
    assert "4 KiB" in done.stdout
    assert "32 MiB or more" in done.stderr
    assert find_ceilings("cpu", 2) == ()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found through /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    """ctrl+c in the middle ends the ranks too, and so do other ways to stop a program; exit code 130.

    It does so in a job in the background as well, for which the shell has SIGINT ignored.
    """
    command = [sys.executable, "-m", "workbench.cli", "bench", "links", "--device", "cpu"]
    in_background = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command]
    with subprocess.Popen(
        in_background, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as bench:
        assert bench.stderr is not None
        assert "measuring" in bench.stderr.readline()
        family = descendants(bench.pid)
        bench.send_signal(number)
        assert bench.wait(60) == 130
    assert len(family) == 3
    assert not left_of(family)


@pytest.mark.parametrize("size", ["1K", "5G", "lots", "-1"])
def test_sizes_that_make_no_sense(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A size that is none, or outside what can be measured, is refused with an example."""
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "links", f"--largest={size}"])
    assert "64M" in capsys.readouterr().err


def test_messages_are_whole_steps_of_kernels(tmp_path: Path) -> None:
    """A size that kernels cannot move, 16 bytes at a time, is rounded down to one that they can."""
    done = pkwb("bench", "links", "--device", "cpu", "--largest", "4100", "--json", cwd=tmp_path)
    assert {rate["bytes"] for rate in json.loads(done.stdout)["rates"]} == {2048, 4096}


def test_one_rank(capsys: pytest.CaptureFixture[str]) -> None:
    """One rank has no link, and the message says what to ask for."""
    assert main(["bench", "links", "--device", "cpu", "--ranks", "1"]) == 2
    assert "--ranks 2" in capsys.readouterr().err
