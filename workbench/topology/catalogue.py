"""Known systems: those that come with pkwb, and the user's own topology files."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from workbench.errors import TopologyError
from workbench.strict import nearest
from workbench.topology.model import Rates
from workbench.topology.system import System, read_system

BUILT_IN = Path(__file__).resolve().parent / "systems"


def system_files(paths: Sequence[str | Path] = ()) -> dict[str, Path]:
    """Topology files by name, the built-in ones first; one of the user's goes before a built-in one of its name.

    ``paths`` are folders or files. Raises TopologyError for what is not there.
    """
    files = {file.stem: file for file in _files(BUILT_IN)}
    for path in paths:
        files |= {file.stem: file for file in _files(_expanded(path))}
    return files


def find_system(name: str, paths: Sequence[str | Path] = ()) -> System:
    """The system of this name, or in the file that ``name`` is the path of. Raises TopologyError with the nearest."""
    if name.endswith(".toml"):
        return read_system(_expanded(name))
    files = system_files(paths)
    by_any_case = {known.lower(): file for known, file in files.items()}
    wanted = name.strip()
    found = files.get(wanted) or by_any_case.get(wanted.lower())
    if found is None:
        raise TopologyError(f"there is no topology {name!r}{nearest(wanted, files)}; 'pkwb topology --list' shows all")
    return read_system(found)


def systems(paths: Sequence[str | Path] = ()) -> list[System]:
    """All systems."""
    return [read_system(file) for file in system_files(paths).values()]


def rates_of(model: str) -> tuple[Rates, str] | None:
    """Rates of a device by its driver's name, with the name of the system that they come from; None = not known."""
    for system in systems():
        if model in system.names:
            return system.rates, system.name
    return None


def _files(path: Path) -> list[Path]:
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            return [path]
        return sorted(file for file in path.iterdir() if file.suffix == ".toml" and not file.is_dir())
    except FileNotFoundError:
        raise TopologyError(f"topology.paths: {path} is not there; create it or take it out of the settings") from None
    except OSError as error:
        raise TopologyError(f"topology.paths: {path} cannot be read: {error.strerror}") from None


def _expanded(path: str | Path) -> Path:
    """A path whose ``~`` is a home; one of nobody stays as it is."""
    return Path(os.path.expanduser(path))
