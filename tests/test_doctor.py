"""What the doctor says about machines other than this one."""

from __future__ import annotations

import shutil
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from workbench import doctor
from workbench.checks import compiling
from workbench.checks.compiling import compiler_without_gpus
from workbench.doctor import Finding, examine

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask no interpreter for torch; other tests do."""
    monkeypatch.setattr(doctor, "CHECKS", tuple(check for check in doctor.CHECKS if check is not doctor._ranks))


def find(name: str, folder: Path) -> Finding:
    """The last finding of a name."""
    return [finding for finding in examine(folder) if finding.name == name][-1]


def test_network_folder_means_polling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a network file system saves are noticed at intervals, and the doctor says at which."""
    monkeypatch.setattr(doctor, "network_filesystem", lambda path: "nfs4")
    finding = find("folder", tmp_path)
    assert (finding.state, "nfs4" in finding.value, "0.5 s" in finding.meaning) == ("note", True, True)


def test_small_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's 64 MB of shared memory are noticed, with the option that enlarges them."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(64_000_000, 0, 64_000_000))
    finding = find("/dev/shm", tmp_path)
    assert finding.state == "note"
    assert "--shm-size" in finding.meaning


def test_more_ranks_than_cores(tmp_path: Path) -> None:
    """More ranks than cores make times noisy, and the doctor says so."""
    (tmp_path / "pkwb.toml").write_text("[ranks]\nworld = 4096\n")
    finding = find("cores", tmp_path)
    assert finding.state == "note"
    assert "noisy" in finding.meaning


def test_terminals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside tmux over ssh: what makes copying work, and how the screen saves bytes."""
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    monkeypatch.setenv("SSH_CONNECTION", "1 2 3 4")
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert "set-clipboard on" in find("tmux", tmp_path).meaning
    assert "20 frames" in find("ssh", tmp_path).meaning
    assert find("colours", tmp_path).state == "ok"
    monkeypatch.setenv("TERM", "dumb")
    assert "pkwb eval" in find("terminal", tmp_path).meaning


def test_full_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache without room for builds is noticed before a build fails, also where its folder is not made yet."""
    monkeypatch.setenv("PKWB_CACHE_DIR", str(tmp_path / "not" / "made" / "yet"))
    assert str(tmp_path) in find("cache", tmp_path).value
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(64_000_000, 64_000_000, 0))
    finding = find("cache", tmp_path)
    assert (finding.state, "0 MB free" in finding.value) == ("note", True)
    assert "PKWB_CACHE_DIR" in finding.meaning


def test_compiler_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no GPU the doctor still says whether CUDA kernels compile."""
    nvcc = tmp_path / "nvcc"
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.48'\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = compiler_without_gpus()
    assert (found.state, found.value) == ("ok", f"13.0, {nvcc}")
    assert "need a GPU to run" in found.meaning
    monkeypatch.setattr(compiling, "find_nvcc", lambda: "")
    assert compiler_without_gpus().state == "note"


def test_missing_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An external editor that is not installed is noticed before it is needed."""
    monkeypatch.setenv("VISUAL", "no-such-editor --wait")
    assert "no-such-editor" in find("editor", tmp_path).value
    monkeypatch.setenv("VISUAL", f"{sys.executable} -m editor")
    assert find("editor", tmp_path).state == "ok"


def test_settings_in_force(tmp_path: Path) -> None:
    """The settings files that were read are named."""
    (tmp_path / "pkwb.toml").write_text("[ui]\nfps = 10\n")
    assert str(tmp_path / "pkwb.toml") in find("settings", tmp_path).value
