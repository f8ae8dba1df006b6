"""Raw kernels that were compiled are kept on disk, and none is missing where they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

from tests.ranks.kernels.scale import NAME, SCALE, needs_nvrtc
from workbench.ranks.names.utils import kernels


def refuse(*_args: object) -> kernels._Built:
    """In the place of NVRTC, where it must not be asked again."""
    raise AssertionError("compiled again")


@needs_nvrtc
def test_kept_on_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process that asks for the same kernel gets it without NVRTC; another option or name is another kernel."""
    first = kernels.compile(SCALE, NAME)
    kernels._compiled.cache_clear()
    monkeypatch.setattr(kernels, "_run", refuse)
    again = kernels.compile(SCALE, NAME)
    assert (again.parameters, again.cubin) == (first.parameters, first.cubin)
    for other in (SCALE, "scale<float>", ()), (SCALE, NAME, ("-DX",)), (SCALE + "\n", NAME, ()):
        with pytest.raises(AssertionError, match="compiled again"):
            kernels.compile(other[0], other[1], options=other[2])
    assert len(list(cache.iterdir())) == 1


@needs_nvrtc
@pytest.mark.parametrize("content", [b"", b"{}\n", b"\xff\n", b'{"entry": "k"}\nx', b"half"])
def test_damaged_files_are_made_again(content: bytes, cache: Path) -> None:
    """A file that is cut off or holds something else is not loaded: the kernel is compiled again."""
    first = kernels.compile(SCALE, NAME)
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(content if content != b"half" else whole[: len(whole) // 2])
    kernels._compiled.cache_clear()
    assert kernels.compile(SCALE, NAME).cubin == first.cubin
    assert file.read_bytes() == whole


@needs_nvrtc
def test_what_is_kept_is_limited(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels that were not used for longest go when the folder is full."""
    monkeypatch.setattr(kernels, "_CACHE_BYTES", 20_000)
    for i in range(8):
        kernels.compile(SCALE, NAME, options=[f"-DN={i}"])
    assert sum(path.stat().st_size for path in cache.iterdir()) <= 20_000
    kernels._compiled.cache_clear()
    monkeypatch.setattr(kernels, "_run", refuse)
    assert kernels.compile(SCALE, NAME, options=["-DN=7"]).parameters


@needs_nvrtc
def test_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the folder cannot be made, kernels compile all the same."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(kernels.CACHE, str(tmp_path / "file" / "kernels"))
    assert kernels.compile(SCALE, NAME).parameters


@needs_nvrtc
def test_disk_without_room(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for a kernel it compiles, and leaves nothing half behind."""

    def full(*_paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert kernels.compile(SCALE, NAME).parameters
    assert list(cache.iterdir()) == []


@needs_nvrtc
def test_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user of no known home, as in many containers, gets kernels all the same; so does one who may only read."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    def read_only(path: Path) -> None:
        raise PermissionError(path)

    first = kernels.compile(SCALE, NAME)
    kernels._compiled.cache_clear()
    with monkeypatch.context() as reading:
        reading.setattr(kernels, "_run", refuse)
        reading.setattr("os.utime", read_only)
        assert kernels.compile(SCALE, NAME).cubin == first.cubin
    monkeypatch.delenv(kernels.CACHE)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    kernels._compiled.cache_clear()
    assert kernels.compile(SCALE, NAME).cubin == first.cubin
