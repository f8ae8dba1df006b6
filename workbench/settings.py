"""Loading settings: the user's file, the project's file, environment variables, flags, each over the ones before.

Everything is driven by the schema in :mod:`workbench.config`. ``python -m workbench.settings`` prints docs/settings.md.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli

from workbench.config import Settings
from workbench.errors import SettingsError
from workbench.files import config_dir
from workbench.toml_lines import line_of

PROJECT_FILE = "pkwb.toml"
_KIND_NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    bool: "true or false",
    list: "a list of texts",
    dict: "a table of texts",
}


@dataclasses.dataclass(frozen=True)
class Option:
    """One setting of the schema."""

    section: str
    name: str
    kind: type
    """int, float, str, bool, list (of str) or dict (of str to str)."""
    default: Any
    help: str
    flag: str
    choices: tuple[str, ...]
    least: float | None
    env: str
    path: str

    @property
    def key(self) -> str:
        """``section.name``."""
        return f"{self.section}.{self.name}"


@dataclasses.dataclass(frozen=True)
class _Given:
    """A value with its place, as it is named in messages."""

    value: Any
    place: str
    folder: Path


def options() -> dict[str, Option]:
    """All settings of the schema by key, in its order."""
    return {option.key: option for section in _sections() for option in _options_of(*section)}


def load_settings(
    flags: Mapping[str, Any] | None = None, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Settings:
    """Settings in force; ``flags`` maps keys such as ``ranks.world`` to values of the command line, None = not given.

    SettingsError names the file, the line and the nearest known key.
    """
    here = Path.cwd() if cwd is None else cwd
    given: dict[str, _Given] = {}
    files = [file for file in settings_files(here) if file.exists()]
    for file in files:
        given |= _read_file(file)
    given |= _from_environment(os.environ if env is None else env, here)
    given |= _from_flags(flags or {}, here)
    return _build(given, tuple(str(file) for file in files))


def settings_files(cwd: Path) -> tuple[Path, Path]:
    """The user's and the project's settings file, whether they exist or not."""
    return config_dir() / "config.toml", cwd / PROJECT_FILE


def _sections() -> Iterator[tuple[str, Any]]:
    hints = typing.get_type_hints(Settings)
    for field in dataclasses.fields(Settings):
        if dataclasses.is_dataclass(hints[field.name]):
            yield field.name, hints[field.name]


def _options_of(section: str, schema: Any) -> Iterator[Option]:
    hints = typing.get_type_hints(schema)
    defaults = schema()
    for field in dataclasses.fields(schema):
        kind = typing.get_origin(hints[field.name]) or hints[field.name]
        kind = str if kind is typing.Literal else kind
        yield Option(
            section=section, name=field.name, kind=kind, default=getattr(defaults, field.name), **field.metadata
        )


def _read_file(file: Path) -> dict[str, _Given]:
    try:
        text = file.read_bytes().decode("utf-8-sig")
        data = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise SettingsError(f"{file}:{error.lineno}:{error.colno}: not valid TOML: {error.msg}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{file} is not UTF-8: save it as UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    return dict(_flatten(file, text, data))


def _flatten(file: Path, text: str, data: Mapping[str, Any]) -> Iterator[tuple[str, _Given]]:
    sections = [name for name, _ in _sections()]
    for section, table in data.items():
        place = _place(file, text, (section,))
        if section not in sections:
            raise SettingsError(f"{place}: [{section}] is not a section of the settings{_near(section, sections)}")
        if not isinstance(table, dict):
            raise SettingsError(f"{place}: {section} must be a section: write [{section}], its keys below it")
        for name, value in table.items():
            yield f"{section}.{name}", _Given(value, _place(file, text, (section, name)), file.parent)


def _place(file: Path, text: str, key: tuple[str, ...]) -> str:
    line = line_of(text, key)
    return f"{file}:{line}" if line else str(file)


def _from_environment(env: Mapping[str, str], here: Path) -> dict[str, _Given]:
    named = ((key, option.env) for key, option in options().items() if option.env)
    return {key: _Given(env[variable], variable, here) for key, variable in named if env.get(variable)}


def _from_flags(flags: Mapping[str, Any], here: Path) -> dict[str, _Given]:
    known = options()
    given = {key: value for key, value in flags.items() if value is not None}
    return {key: _Given(value, known[key].flag or key, here) for key, value in given.items()}


def _build(given: Mapping[str, _Given], sources: tuple[str, ...]) -> Settings:
    known = options()
    values: dict[str, dict[str, Any]] = {}
    for key, item in given.items():
        if key not in known:
            raise SettingsError(f"{item.place}: {key} is not a setting{_near(key, known)}")
        option = known[key]
        values.setdefault(option.section, {})[option.name] = _resolve(option, _check(option, item), item.folder)
    sections = {name: schema(**values.get(name, {})) for name, schema in _sections()}
    return Settings(sources=sources, given=frozenset(given), **sections)


def _near(wrong: str, known: Iterable[str]) -> str:
    names = list(known)
    last = {name.rpartition(".")[2]: name for name in reversed(names)}
    near = difflib.get_close_matches(wrong, names, n=1, cutoff=0.5)
    near = near or [last[name] for name in difflib.get_close_matches(wrong.rpartition(".")[2], list(last), n=1)]
    return f"; did you mean {near[0]}?" if near else f"; known are: {', '.join(names)}"


def _check(option: Option, item: _Given) -> Any:
    value: Any = float(item.value) if option.kind is float and type(item.value) is int else item.value
    if not _fits(option.kind, value):
        raise SettingsError(f"{item.place}: {option.key} must be {_KIND_NAMES[option.kind]}, not {item.value!r}")
    if option.choices and value not in option.choices:
        raise SettingsError(f"{item.place}: {option.key} is {value!r}; choose one of: {', '.join(option.choices)}")
    # Written as "not >=" so that nan is refused as well.
    if option.least is not None and not option.least <= value < float("inf"):
        raise SettingsError(f"{item.place}: {option.key} is {value}; it must be at least {option.least:g}, and finite")
    return value


def _fits(kind: type, value: Any) -> bool:
    if kind is list:
        return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
    if kind is dict:
        return isinstance(value, dict) and all(isinstance(entry, str) for entry in value.values())
    return type(value) is kind


def _resolve(option: Option, value: Any, folder: Path) -> Any:
    if not option.path or not value:
        return value
    if isinstance(value, list):
        return [_absolute(entry, folder) for entry in value]
    plain = option.path == "program" and "/" not in value and not value.startswith("~")
    return value if plain else _absolute(value, folder)


def _absolute(value: str, folder: Path) -> str:
    return os.path.abspath(os.path.join(folder, os.path.expanduser(value)))


def main() -> None:
    """Print docs/settings.md."""
    from workbench.settings_docs import settings_page

    print(settings_page(), end="")


if __name__ == "__main__":
    main()
