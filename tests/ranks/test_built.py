"""How a rank finds the build service."""

from __future__ import annotations

import socket
from pathlib import Path

from workbench.ranks.built import address


def test_scratch_folder_far_down(tmp_path: Path) -> None:
    """A scratch folder whose path is longer than a socket's address may be serves all the same."""
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as end:
        with address(str(folder / "build")) as short:
            listener.bind(short)
        listener.listen()
        with address(str(folder / "build")) as short:
            end.connect(short)
    assert (folder / "build").is_socket()
