"""Problem folders: the catalogue (cheap), finding one by number or name, and reading one strictly."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from problems import schema
from problems.checkout import checkout_entries, checkout_problem
from problems.checks import check_problem
from problems.model import Entry, Problem
from workbench.errors import ProblemError
from workbench.strict import Place, Readers, parse_toml, read_table, read_text

BUILT_IN = Path(__file__).resolve().parent
_FILE = "problem.toml"
_TEXTS = ("origin", "statement", "algorithm", "notes")
_REQUIRED = (
    *schema.NAMES,
    *("statement", "dtypes", "compare", "sizes", "inputs", "outputs", "figures"),
)


def catalogue(paths: Sequence[str | Path] = (), pkb: str | Path = "") -> list[Entry]:
    """All problems: the built-in ones by number, then those of the user's folders in the order of ``paths``.

    With ``pkb``, the top of a ParallelKernelBench checkout, its problems alone. Raises ProblemError for a folder that
    is missing and for a number or stem that is used twice.
    """
    entries = list(_built_in())
    if pkb:
        return checkout_entries(Path(pkb).expanduser().resolve(), {entry.stem: entry for entry in entries})
    for path in paths:
        entries += _listed(_user_folder(Path(path).expanduser()))
    _refuse_twins(entries)
    return entries


def find_problem(text: str, paths: Sequence[str | Path] = (), pkb: str | Path = "") -> Problem:
    """The problem that ``42``, ``problem_42``, ``42_zero2_optimizer_shard_grad`` or a unique part of the name means."""
    return load_entry(find_entry(text, catalogue(paths, pkb)))


def load_entry(entry: Entry) -> Problem:
    """The problem of a line of the catalogue."""
    if entry.checkout:
        return checkout_problem(entry.folder, entry, _known)
    return load_problem(entry.folder)


def _known(stem: str) -> Problem | None:
    return next((load_problem(entry.folder) for entry in _built_in() if entry.stem == stem), None)


def find_entry(text: str, entries: Sequence[Entry]) -> Entry:
    """The catalogue's line for a problem's number or name. Raises ProblemError that lists near names."""
    wanted = text.strip().lower()
    number = re.fullmatch(r"(?:problem[ _-]?)?#?(\d+)", wanted)
    if number:
        found = [entry for entry in entries if entry.number == int(number[1])]
    else:
        found = [entry for entry in entries if wanted in (entry.stem.lower(), entry.folder.name.lower())]
        found = found or [entry for entry in entries if wanted and wanted in entry.stem.lower()]
    if len(found) > 1:
        raise ProblemError(f"{text!r} fits several problems: {_names(found)}; give the number or more of the name")
    if not found:
        raise ProblemError(f"there is no problem {text!r}{_near(wanted, entries)}; 'pkwb list' shows all")
    return found[0]


def load_problem(folder: str | Path) -> Problem:
    """The problem in a folder. Raises ProblemError that names the file and the key when malformed."""
    folder = Path(folder).resolve()
    place = Place(folder / _FILE, ProblemError)
    values = read_table(parse_toml(read_text(place), place), schema.PROBLEM, _REQUIRED, place)
    for key, (kind, readers) in schema.RECORDS.items():
        if key in values:
            values[key] = _records(kind, values[key], readers, place.at(key))
    values["tolerance"] = schema.read_tolerance(values.get("tolerance", {}), place.at("tolerance"))
    texts = {key: values.get(key, "").strip() for key in _TEXTS}
    problem = Problem(**{"symbols": {}, **values, **texts, "folder": folder})
    check_problem(problem, place)
    return problem


def _records(kind: type[Any], value: Any, readers: Readers, place: Place) -> Any:
    if isinstance(value, tuple):
        return tuple(schema.read_record(kind, item, readers, place.at(i)) for i, item in enumerate(value))
    return schema.read_record(kind, value, readers, place)


@functools.lru_cache(maxsize=1)
def _built_in() -> tuple[Entry, ...]:
    folders = (folder for folder in BUILT_IN.iterdir() if folder.name[:1].isdigit())
    return tuple(_listed(folder for folder in folders if (folder / _FILE).is_file()))


def _listed(folders: Iterable[Path]) -> list[Entry]:
    return sorted((_entry(folder) for folder in folders), key=lambda entry: entry.number)


def _user_folder(path: Path) -> list[Path]:
    if not path.is_dir():
        raise ProblemError(f"problems.paths: {path} is not a folder; create it or take it out of the settings")
    if (path / _FILE).is_file():
        return [path.resolve()]
    return [folder.resolve() for folder in path.iterdir() if (folder / _FILE).is_file()]


def _entry(folder: Path) -> Entry:
    place = Place(folder / _FILE, ProblemError)
    text = read_text(place)
    # The head is all that a listing needs; reading 87 whole files would take longer than the listing may.
    table = parse_toml(re.split(r"^(?:origin|statement)\s*=", text, maxsplit=1, flags=re.MULTILINE)[0], place)
    if not table.keys() >= schema.HEAD.keys():
        table = parse_toml(text, place)
    head = {key: table[key] for key in schema.HEAD if key in table}
    return Entry(**read_table(head, schema.HEAD, schema.NAMES, place), folder=folder)


def _refuse_twins(entries: Sequence[Entry]) -> None:
    seen: dict[int | str, Entry] = {}
    for entry in entries:
        for kind, key in (("number", entry.number), ("stem", entry.stem)):
            first = seen.setdefault(key, entry)
            if first is not entry:
                raise ProblemError(
                    f"problem {kind} {key} is used twice: {first.folder / _FILE} and {entry.folder / _FILE}"
                )


def _names(entries: Sequence[Entry]) -> str:
    shown = [entry.stem for entry in entries[:8]]
    return ", ".join(shown) + (f" and {len(entries) - 8} more" if len(entries) > 8 else "")


def _near(wanted: str, entries: Sequence[Entry]) -> str:
    plain = {re.sub(r"^\d+_", "", entry.stem.lower()): entry.stem for entry in entries}
    close = difflib.get_close_matches(re.sub(r"^(problem_)?\d*_?", "", wanted), list(plain), n=3, cutoff=0.45)
    return f"; near names: {', '.join(plain[name] for name in close)}" if close else ""
