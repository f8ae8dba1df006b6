"""Loading settings, and what is said about wrong ones."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.program import ROOT
from workbench.commands.arguments import add_flags, flag_values
from workbench.config import Settings
from workbench.errors import SettingsError
from workbench.settings import Option, load_settings, options
from workbench.settings_docs import settings_page
from workbench.toml_lines import line_of

OPTIONS = options()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project's settings file."""
    return tmp_path / "pkwb.toml"


@pytest.fixture
def user(own_folders: Path) -> Path:
    """The user's settings file."""
    file = own_folders / "config" / "config.toml"
    file.parent.mkdir()
    return file


def load(project: Path, env: dict[str, str] | None = None, **flags: Any) -> Settings:
    """Settings for a program started in the project's folder; flags as ``ranks__world=4``."""
    return load_settings({key.replace("__", "."): value for key, value in flags.items()}, project.parent, env or {})


def message(project: Path, text: str) -> str:
    """What is said about a project file."""
    project.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(project)
    return str(caught.value)


def test_no_file_means_defaults(project: Path) -> None:
    """Without settings files the defaults are in force."""
    assert load(project) == Settings()


def test_later_places_win(project: Path, user: Path) -> None:
    """The project's file wins over the user's, an environment variable over both, and a flag over all."""
    user.write_text('[ranks]\nworld = 3\npython = "python3"\n[run]\nsize = "smoke"\n[ui]\nfps = 5')
    project.write_text('[ranks]\nworld = 4\n[run]\nsize = "large"')
    found = load(project, {"PKWB_RANKS_PYTHON": "python3.12"}, ranks__world=8, run__dtype=None)
    assert (found.ranks.world, found.run.size, found.ui.fps) == (8, "large", 5)
    assert found.ranks.python == "python3.12"
    assert found.run.dtype == "bfloat16"
    assert found.sources == (str(user), str(project))


@pytest.mark.parametrize(
    ("text", "line", "parts"),
    [
        ("[ranks]\n# four\nwrold = 4", 3, ["ranks.wrold is not a setting", "did you mean ranks.world?"]),
        ("[rank]\nworld = 4", 1, ["[rank] is not a section", "did you mean ranks?"]),
        ("[ui]\nworld = 4", 2, ["ui.world is not a setting", "did you mean ranks.world?"]),
        ("ranks.wurld = 4", 1, ["did you mean ranks.world?"]),
        ("world = 4", 1, ["[world] is not a section"]),
        ("\nranks = 4", 2, ["ranks must be a section"]),
        ('[ranks]\nworld = "four"', 2, ["ranks.world must be a whole number, not 'four'"]),
        ("[ranks]\nworld = true", 2, ["must be a whole number"]),
        ("[ranks]\nworld = 2.0", 2, ["must be a whole number"]),
        ("[ranks]\nworld = 0", 2, ["at least 1"]),
        ("[limits]\nrun = -1", 2, ["at least 0.1"]),
        ("[limits]\nrun = nan", 2, ["at least 0.1"]),
        ("[limits]\nrun = inf", 2, ["finite"]),
        ('[ui]\nlayout = "wide"', 2, ["ui.layout is 'wide'", "full, results"]),
        ("[ui]\nmouse = 1", 2, ["true or false"]),
        ("[problems]\npaths = [1]", 2, ["a list of texts"]),
        ("[ui.keys]\nsave = 2", 1, ["ui.keys must be a table of texts"]),
        ("[[ranks]]\nworld = 1", 1, ["ranks must be a section"]),
        ("[ranks]\nworld = ", 2, ["not valid TOML"]),
        ("[ranks]\nworld = 1\nworld = 2", 3, ["not valid TOML"]),
    ],
)
def test_mistakes_name_file_line_and_remedy(project: Path, text: str, line: int, parts: list[str]) -> None:
    """A mistake is told with its file, its line, and what is known or meant."""
    said = message(project, text)
    assert said.startswith(f"{project}:{line}:")
    assert all(part in said for part in parts), said


def test_flag_mistakes_name_the_flag(project: Path) -> None:
    """A value that a flag may not have is told with the flag's name."""
    with pytest.raises(SettingsError, match=r"--ranks: ranks\.world is 0"):
        load(project, ranks__world=0)


def test_unreadable_files(project: Path) -> None:
    """A settings file that is a folder or not UTF-8 is told by name."""
    project.write_bytes(b"[ui]\ntheme = '\xff'")
    with pytest.raises(SettingsError, match="not UTF-8"):
        load(project)
    project.unlink()
    project.mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load(project)


def test_paths_count_from_their_file(project: Path, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths count from the folder of the file they stand in, and ~ is the home folder."""
    monkeypatch.setenv("HOME", "/home/someone")
    user.write_text('[sessions]\npath = "store.sqlite3"')
    project.write_text('[problems]\npaths = ["mine", "~/more"]\n[ranks]\npython = "env/bin/python"')
    found = load(project)
    assert found.sessions.path == str(user.parent / "store.sqlite3")
    assert found.problems.paths == [str(project.parent / "mine"), "/home/someone/more"]
    assert found.ranks.python == str(project.parent / "env/bin/python")
    project.write_text('[ranks]\npython = "python3.12"')
    assert load(project).ranks.python == "python3.12"


def values_of(option: Option) -> st.SearchStrategy[Any]:
    """Values that a setting may have."""
    if option.choices:
        return st.sampled_from(option.choices)
    least = 0 if option.least is None else option.least
    text = st.text(st.characters(codec="utf-8", exclude_characters="\x7f/~"), max_size=20)
    kinds: dict[type, st.SearchStrategy[Any]] = {
        int: st.integers(int(least), 10**6),
        float: st.floats(least, 1e9),
        str: text,
        bool: st.booleans(),
        list: st.lists(st.sampled_from(["/a", "/b/c"])),
        dict: st.dictionaries(text, text, max_size=3),
    }
    return kinds[option.kind]


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(data=st.data())
def test_every_setting_can_be_set(project: Path, data: st.DataObject) -> None:
    """Every setting of the schema takes every value of its type from a file, and leaves the others alone."""
    option = OPTIONS[data.draw(st.sampled_from(sorted(OPTIONS)))]
    value = data.draw(values_of(option).filter(lambda value: not (option.path == "file" and value == "")))
    project.write_text(f"[{option.section}]\n{option.name} = {toml(value)}\n")
    found = load(project)
    got = getattr(getattr(found, option.section), option.name)
    assert got == (str(project.parent / value) if option.path == "file" and option.kind is str else value)
    untouched = (other for other in OPTIONS.values() if other.key != option.key)
    assert all(getattr(getattr(found, other.section), other.name) == other.default for other in untouched)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(
    text=st.text(st.characters(codec="utf-8"))
    | st.from_regex(r"(\[[a-z.]{1,9}\]\n|[a-z.]{1,9} = [0-9a-z\"\[\]{}]{1,5}\n)*")
)
@example(text="ranks = {world = 2}\n[ui]\nfps = 1")
@example(text="[ranks]\nworld = 99999999999999999999")
@example(text='"" = 1')
def test_any_text_loads_or_is_explained(project: Path, text: str) -> None:
    """Whatever is in the file: it is loaded, or refused with the file's name; nothing else can happen."""
    project.write_text(text, encoding="utf-8", newline="")
    try:
        found = load(project)
    except SettingsError as error:
        assert str(error).startswith(str(project))  # noqa: PT017
    else:
        assert isinstance(found, Settings)


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("[a]\nx = 1\n[b]\nx = 2", ("b", "x"), 4),
        ("a.x = 1\na.y = 2", ("a", "y"), 2),
        ("\na = {x = 1}", ("a", "x"), 2),
        ("[ \"a\" ] # here\n'x' = 1", ("a", "x"), 2),
        ("[a.b]\nx = 1", ("a",), 1),
        ("[a]\n", ("c", "d"), 0),
    ],
)
def test_lines_are_found(text: str, key: tuple[str, ...], line: int) -> None:
    """A key's line is found in every way of writing it; 0 where it is not there."""
    assert line_of(text, key) == line


def test_switches_take_no_value(project: Path) -> None:
    """The flag of a setting that is on or off stands alone; without it the settings files are in force."""
    parser = argparse.ArgumentParser()
    add_flags(parser, "ranks.share_gpus")
    project.write_text("[ranks]\nshare_gpus = true\n")

    assert flag_values(parser.parse_args(["--share-gpus"])) == {"ranks.share_gpus": True}
    assert flag_values(parser.parse_args([])) == {}
    assert load(project).ranks.share_gpus


@pytest.mark.parametrize("option", [one for one in options().values() if one.kind is bool and one.flag])
def test_switches_can_be_turned_off(option: Option, project: Path) -> None:
    """What a settings file has switched on, a flag with ``no-`` switches off, for every switch that has a flag."""
    section, name = option.key.split(".")
    project.write_text(f"[{section}]\n{name} = true\n")
    parser = argparse.ArgumentParser()
    add_flags(parser, option.key)
    given = flag_values(parser.parse_args([option.flag.replace("--", "--no-", 1)]))

    assert getattr(getattr(load(project), section), name) is True
    assert getattr(getattr(load_settings(given, project.parent, {}), section), name) is False


def test_page_is_up_to_date() -> None:
    """docs/settings.md says what the schema says; `make docs` makes it anew."""
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == settings_page()


def test_page_is_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m workbench.settings` prints that page."""
    from workbench.settings import main

    monkeypatch.setattr(sys, "argv", ["settings"])
    main()
    assert capsys.readouterr().out == settings_page()
