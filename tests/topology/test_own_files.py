"""Topology files that users write by hand: what is wrong with one is said, and nothing absurd gets further."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.topology.test_catalogue import SMALL, written
from workbench.errors import TopologyError
from workbench.topology.catalogue import find_system, system_files
from workbench.topology.placing import place
from workbench.topology.system import read_system

TREE = SMALL.replace('graph = "mesh"', 'graph = "tree"').replace(
    "[[links]]",
    '[[links]]\nto = "box"\nmembers = 2\nkind = "card"\ngbps = { value = 9, source = "sheet" }\n\n[[links]]',
)
TREE = TREE.replace('kind = "bridge"', 'to = "host"\nmembers = 1\nkind = "bridge"')
CAPPED = SMALL.replace("[sources]", '[ceilings]\nregister = { value = 0.8, source = "sheet" }\n\n[sources]')
TORUS = SMALL.replace('graph = "mesh"', 'graph = "torus"') + "\n[torus]\nmost = [2, 4]\nwrap = 4\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (SMALL, "value = 50", "value = nan", "links[0].gbps.value: must be above 0, not nan"),
        (SMALL, "value = 50", "value = -50", "links[0].gbps.value: must be above 0, not -50"),
        (SMALL, "value = 50", "value = inf", "links[0].gbps.value: must be from 1e-06 to 1e+09: GB are 1e9 bytes"),
        (SMALL, "value = 50", "value = 50e9", "links[0].gbps.value: must be from 1e-06 to 1e+09"),
        (SMALL, "value = 50", "value = 1e-300", "links[0].gbps.value: must be from 1e-06 to 1e+09"),
        (SMALL, "value = 10", f"value = {'9' * 400}", "memory_gb.value: must be from 1e-06 to 1e+09"),
        (SMALL, "value = 50", "value = true", "links[0].gbps.value: must be a number, not True"),
        (SMALL, "devices = 2", "devices = 0", "devices: must be a whole number from 1 to 1000000, not 0"),
        (SMALL, "devices = 2", "devices = 10_000_000", "devices: must be a whole number from 1 to 1000000"),
        (SMALL, 'kind = "bridge"', 'kind = "bridge"\ncount = 0', "links[0].count: must be a whole number from 1"),
        (SMALL, 'kind = "bridge"', 'kind = "bridge"\ncount = -3', "links[0].count: must be a whole number from 1"),
        (SMALL, 'kind = "bridge"', 'kind = "bridge"\nto = "host"', "links[0].to: belongs to the graphs 'switch' and"),
        (SMALL, '"Two cards"', '""', "title: must be one line of plain text, not ''"),
        (SMALL, '"Two cards"', r'"a\u001b[31mb"', "title: must be one line of plain text"),
        (SMALL, '"Card"', r'"a\nb"', "model: must be one line of plain text"),
        (SMALL, '"the maker\'s data sheet"', '" "', "sources.sheet: must be one line of plain text"),
        (
            SMALL,
            "[sources]",
            '[ceilings]\nregister = { value = 80, source = "sheet" }\n[sources]',
            "share of the link's",
        ),
        (SMALL, SMALL[SMALL.index("[[links]]") : SMALL.index("[sources]")], "links = []\n", "at least one entry in"),
        (TREE, 'graph = "tree"', 'graph = "switch"', "links: a switch has links of one kind: one entry"),
        (TREE, 'to = "host"', 'to = "box 1"', "links[1].to: 'box 1' is a device's or another level's name"),
        (TREE, 'to = "box"', 'to = "gpu 0"', "links[0].to: 'gpu 0' is a device's or another level's name"),
        (TREE, "members = 2", "members = -2", "links[0].members: must be a whole number from 1"),
        (TORUS, "[2, 4]", "[]", "torus.most: must be a list of 1 to 6 whole numbers, not []"),
        (TORUS, "[2, 4]", "[0, 4]", "torus.most[0]: must be a whole number from 1"),
        (TORUS, "[2, 4]", "[1, 1]", "torus.most: multiplies to less than the 2 devices"),
        (TORUS, "wrap = 4", "wrap = 0", "torus.wrap: must be a whole number from 1"),
    ],
)
def test_absurd_files_are_refused(tmp_path: Path, text: str, old: str, new: str, words: str) -> None:
    """Figures that no machine has, and parts that do not fit, are told with file, key and what is wanted."""
    assert read_system(written(tmp_path, text)).devices == 2
    changed = text.replace(old, new)
    assert changed != text
    with pytest.raises(TopologyError) as caught:
        read_system(written(tmp_path, changed))
    assert str(caught.value).startswith(f"{tmp_path / 'mine.toml'}: ")
    assert words in str(caught.value)


def test_files_of_other_editors(tmp_path: Path) -> None:
    """A byte order mark, carriage returns and letters of any script are read as they are meant."""
    path = tmp_path / "mine.toml"
    path.write_bytes(("\ufeff" + SMALL.replace("Two cards", "两张卡")).replace("\n", "\r\n").encode())

    assert place(read_system(path), 2).name == "两张卡"


def test_names_in_any_case(tmp_path: Path) -> None:
    """A file of the user's is found by its name, whatever its case, and the exact name goes first."""
    written(tmp_path, SMALL, "Lab-Box")

    assert [find_system(name, [tmp_path]).name for name in ("Lab-Box", "lab-box", "HGX-H200")] == [
        "Lab-Box", "Lab-Box", "hgx-h200",
    ]  # fmt: skip
    written(tmp_path, SMALL, "lab-box")
    assert [find_system(name, [tmp_path]).name for name in ("Lab-Box", "lab-box")] == ["Lab-Box", "lab-box"]


def test_places_that_hold_no_file(tmp_path: Path) -> None:
    """A folder called like a file is none; a path through a file, or from nobody's home, is named with the reason."""
    path = written(tmp_path, SMALL)
    (tmp_path / "folder.toml").mkdir()

    assert "folder" not in system_files([tmp_path])
    with pytest.raises(TopologyError, match=r"folder\.toml: cannot be read: Is a directory"):
        find_system(str(tmp_path / "folder.toml"))
    with pytest.raises(TopologyError, match=r"topology\.paths: .*mine\.toml/deeper cannot be read: Not a directory"):
        system_files([path / "deeper"])
    with pytest.raises(TopologyError, match=r"topology\.paths: ~nobody-there/x is not there"):
        system_files(["~nobody-there/x"])


def test_two_devices_are_no_ring(tmp_path: Path) -> None:
    """Between two devices of an axis there is one link, also where axes of that length are closed."""
    found = place(read_system(written(tmp_path, TORUS.replace("[2, 4]", "[2]").replace("wrap = 4", "wrap = 2"))), 2)

    assert (found.wraps, len(found.links)) == ((True,), 1)


def test_one_device_is_told_as_one(tmp_path: Path) -> None:
    """The advice for a system of one device is one rank."""
    alone = read_system(
        written(tmp_path, TREE.replace("members = 2", "members = 1").replace("devices = 2", "devices = 1"))
    )

    with pytest.raises(TopologyError, match="mine has 1 device: give --ranks 1, or a larger system"):
        place(alone, 2)
