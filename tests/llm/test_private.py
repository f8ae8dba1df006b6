"""What a provider is not told of the user's machine."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from workbench.llm.private import private, unnamed

SHORTENED = {
    'File "/srv/alice/acme/solutions_cuda/13_x.py", line 3': 'File "13_x.py", line 3',
    "/srv/alice/13_x.py:8:44: error: no": "13_x.py:8:44: error: no",
    'File "/srv/alice/env/lib/python3.11/site-packages/torch/distributed/c10d.py", line 9': (
        'File "torch/distributed/c10d.py", line 9'
    ),
    "['/srv/py/lib/python311.zip', '/srv/py/lib']": "['python311.zip', 'lib']",
    "cwd ~/acme/work": "cwd work",
    "/usr/include/c++/13/bits/stl.h:1: note": "/usr/include/c++/13/bits/stl.h:1: note",
    "total = a/b/c + d / e / f": "total = a/b/c + d / e / f",
    "out[0, 3] is 1/2, see https://example.org/a/b": "out[0, 3] is 1/2, see https://example.org/a/b",
    "torch/csrc/x.cpp:3 and /tmp": "torch/csrc/x.cpp:3 and /tmp",
}


@pytest.mark.parametrize("text", SHORTENED)
def test_files_without_their_folders(text: str) -> None:
    """Files of the user are named without their folders; those of packages and of the system stay findable."""
    assert private(text) == SHORTENED[text]


def test_home_with_a_blank(monkeypatch: pytest.MonkeyPatch) -> None:
    """A home whose name holds a blank is not told either."""
    monkeypatch.setattr(Path, "home", lambda: Path("/home/alice smith"))
    assert private("in /home/alice smith/work/x.py") == "in x.py"
    assert private("/home/alice smith/e/site-packages/torch/x.py:3") == "torch/x.py:3"


def test_host_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host is called this host; words that only begin like its name stay."""
    monkeypatch.setattr(platform, "node", lambda: "box")
    assert unnamed("2 CPU ranks on box, each to box") == "2 CPU ranks on this host, each to this host"
    assert unnamed("put on boxes, on box.py, a box") == "put on boxes, on box.py, a box"
