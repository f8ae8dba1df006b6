"""The page docs/settings.md, made from the settings schema."""

from __future__ import annotations

import json
from typing import Any

from workbench.settings import Option, options

_HEAD = """# Settings

pkwb reads `config.toml` in the user's configuration folder (`pkwb doctor` names it), then `pkwb.toml` in the folder it
is started in, then environment variables, then flags; each overrides the ones before. A flag that switches something on
has a twin that switches it off: `--graph`, `--no-graph`. Unknown keys and values of a wrong type are errors that name
the file, the line and the nearest known key. Relative paths count from the settings file's folder.

This page is made by `python -m workbench.settings`.
"""


def settings_page() -> str:
    """The whole page as Markdown."""
    sections: dict[str, list[str]] = {}
    for option in options().values():
        sections.setdefault(option.section, []).append(_row(option))
    tables = [f"\n## [{name}]\n\n{_TABLE_HEAD}" + "".join(rows) for name, rows in sections.items()]
    return _HEAD + "".join(tables)


_TABLE_HEAD = "| key | default | flag | meaning |\n|---|---|---|---|\n"


def _row(option: Option) -> str:
    choices = f" ({', '.join(option.choices)})" if option.choices else ""
    env = f"; environment: `{option.env}`" if option.env else ""
    flag = f"`{option.flag}`" if option.flag else ""
    return f"| `{option.name}` | `{_toml(option.default)}` | {flag} | {option.help}{choices}{env} |\n"


def _toml(value: Any) -> str:
    return json.dumps(value)
