"""The catalogue of systems: complete, sourced, read strictly; ranks placed on each of them and drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.program import ROOT
from workbench.errors import TopologyError
from workbench.topology.catalogue import BUILT_IN, find_system, rates_of, system_files, systems
from workbench.topology.draw import draw
from workbench.topology.placing import place
from workbench.topology.system import facts_of, read_system

NAMES = sorted(system_files())
GRAPHS = {
    "switch": "dgx-a100 dgx-h100 hgx-h200 hgx-b200 gb200-nvl72",
    "mesh": "mi300x mi355x",
    "torus": "tpu-v5p tpu-v6e tpu-7x",
    "tree": "rtx-4090-box",
}
SMALL = """
title = "Two cards"
graph = "mesh"
device = "gpu"
model = "Card"
devices = 2
memory_gb = { value = 10, source = "sheet" }

[[links]]
kind = "bridge"
gbps = { value = 50, source = "sheet" }

[sources]
sheet = "the maker's data sheet"
"""


def written(folder: Path, text: str, name: str = "mine") -> Path:
    """A topology file with this text."""
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_the_known_systems_are_there() -> None:
    """GPU servers, racks, TPU pods and PCIe boxes can be asked for, each with its kind of graph."""
    found = {system.name: system.graph for system in systems()}

    assert found.items() >= {name: graph for graph, names in GRAPHS.items() for name in names.split()}.items()


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_a_source(name: str) -> None:
    """No figure of the catalogue stands without saying where it is from, and no source is listed for nothing."""
    system = find_system(name)
    used = {fact.source for fact in facts_of(system).values()}
    text = (BUILT_IN / f"{name}.toml").read_text()

    assert all(len(source) > 10 for source in used)
    assert text.partition("[sources]")[2].count(" = ") == len(used)
    assert {"hbm_gbps", "alpha_us", "tflops.bfloat16"} <= facts_of(system).keys()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("world", [1, 2, 4])
def test_ranks_are_placed_and_drawn(name: str, world: int) -> None:
    """Each rank has a device of its own, and the drawing shows it within the width."""
    topology = place(find_system(name), world)

    assert [device.rank for device in topology.devices][:world] == list(range(world))
    for width in (30, 80):
        lines = draw(topology, width)
        assert max(map(len, lines)) <= width
        text = "\n".join(lines)
        assert all(f"rank {rank}" in text or f"│ {rank} " in text or f"[{rank}]" in text for rank in range(world))


def test_too_many_ranks_are_refused() -> None:
    """A system with too few devices, or a torus without such a slice, says what to do."""
    with pytest.raises(TopologyError, match="hgx-h200 has 8 devices: give --ranks 1 to 8"):
        place(find_system("hgx-h200"), 9)
    with pytest.raises(TopologyError, match="no slice of at most 16x16 has 34 devices"):
        place(find_system("tpu-v6e"), 34)


def test_slices_of_a_torus() -> None:
    """A slice is as even as it can be; only axes of the right length are closed to rings."""
    v6e, v5p = find_system("tpu-v6e"), find_system("tpu-v5p")

    assert (place(v6e, 8).shape, place(v6e, 8).wraps) == ((2, 4), (False, False))
    assert (place(v6e, 32).shape, place(v6e, 32).wraps) == ((4, 8), (False, False))
    assert (place(v6e, 256).shape, place(v6e, 256).wraps) == ((16, 16), (True, True))
    assert (place(v5p, 64).shape, place(v5p, 64).wraps) == ((4, 4, 4), (True, True, True))
    assert (place(v5p, 32).shape, place(v5p, 32).wraps) == ((2, 4, 4), (False, False, False))
    assert len(place(v5p, 64).links) == 3 * 64
    assert len(place(v6e, 8).links) == 4 + 2 * 3


def test_unknown_names_have_a_hint() -> None:
    """A misspelt name is answered with the nearest one."""
    with pytest.raises(TopologyError, match="no topology 'h200'; did you mean"):
        find_system("h200")


def test_own_files_are_found_and_go_first(tmp_path: Path) -> None:
    """A folder of the user's adds systems, and replaces a built-in one of the same name; a path works too."""
    written(tmp_path, SMALL)
    path = written(tmp_path, SMALL, "hgx-h200")

    assert find_system("mine", [tmp_path]).title == "Two cards"
    assert find_system("hgx-h200", [tmp_path]).devices == 2
    assert find_system(str(path)).links[0].gbps.value == 50
    with pytest.raises(TopologyError, match=r"topology\.paths: .*nowhere is not there"):
        find_system("mine", [tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("devices = 2", "device_count = 2", "mine.toml: device_count: unknown key; did you mean 'device"),
        ("devices = 2\n", "", "mine.toml: key 'devices' is missing"),
        ('graph = "mesh"', 'graph = "ring"', "mine.toml: graph: must be one of switch, mesh, torus, tree"),
        ("value = 50", 'value = "50"', "mine.toml: links[0].gbps.value: must be a number, not '50'"),
        ("value = 50", "value = 0", "mine.toml: links[0].gbps.value: must be above 0, not 0"),
        (
            '50, source = "sheet"',
            '50, source = "shet"',
            "links[0].gbps.source: 'shet' is not in [sources]; known: sheet",
        ),
        ('50, source = "sheet"', "50", "mine.toml: links[0].gbps: key 'source' is missing"),
        ('graph = "mesh"', 'graph = "tree"', "links[0]: needs 'to', where the links lead"),
        ('graph = "mesh"', 'graph = "torus"', "torus: belongs to the graph 'torus', and that graph needs it"),
        ("[sources]", "[tflops]\nbf16 = 3\n[sources]", "mine.toml: tflops.bf16: unknown key; did you mean 'bfloat16'?"),
        ("[sources]", "[sources", "mine.toml: not valid TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    """A mistake in a file is told with the file, the key and what is wanted."""
    with pytest.raises(TopologyError) as caught:
        read_system(written(tmp_path, SMALL.replace(old, new)))
    assert words in str(caught.value)


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    """The file that docs/topology-format.md shows can be read as it stands, but for the torus that it is not."""
    page = (ROOT / "docs" / "topology-format.md").read_text()
    example = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[1]
    system = read_system(written(tmp_path, re.sub(r"\[torus\].*?\n\n", "", example, flags=re.DOTALL)))

    assert (system.title, len(system.links)) == ("8 cards in our lab", 2)
    with pytest.raises(TopologyError, match="belongs to the graph 'torus'"):
        read_system(written(tmp_path, example))


def test_members_must_add_up(tmp_path: Path) -> None:
    """The levels of a tree hold as many devices as the system says it has."""
    text = SMALL.replace('graph = "mesh"', 'graph = "tree"').replace("[[links]]", '[[links]]\nto = "host"\nmembers = 3')
    with pytest.raises(TopologyError, match="the members multiply to 3, but there are 2 devices"):
        read_system(written(tmp_path, text))


def test_rates_by_the_drivers_name() -> None:
    """A GPU that the driver names gets its rates; one that nobody knows gets none."""
    found = rates_of("H200")

    assert found is not None
    assert found[1] == "hgx-h200"
    assert found[0].hbm_gbps is not None
    assert found[0].hbm_gbps.value == 4800
    assert rates_of("Voodoo2") is None
