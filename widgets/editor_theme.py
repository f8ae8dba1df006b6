"""Colours of the code in the editor, one table for each colour theme; the rest follows the style sheet."""

from __future__ import annotations

from rich.style import Style
from textual.widgets.text_area import TextAreaTheme

_ROLES: dict[str, str] = {
    "comment": "comment",
    "string": "string",
    "string.escape": "escape",
    "number": "number",
    "float": "number",
    "boolean": "number",
    "none": "number",
    "constant": "number",
    "constant.builtin": "number",
    "keyword": "keyword",
    "keyword.function": "keyword",
    "keyword.operator": "keyword",
    "keyword.return": "keyword",
    "conditional": "keyword",
    "repeat": "keyword",
    "exception": "keyword",
    "include": "keyword",
    "preproc": "decorator",
    "attribute": "decorator",
    "attribute.builtin": "decorator",
    "function": "function",
    "method": "function",
    "function.call": "call",
    "method.call": "call",
    "function.builtin": "builtin",
    "constructor": "type",
    "type": "type",
    "type.builtin": "type",
    "type.class": "type",
    "type.definition": "type",
    "variable.builtin": "builtin",
    "parameter": "parameter",
}
"""Names in the grammar's highlight query -> roles that a palette colours."""

_PALETTES: dict[str, dict[str, str]] = {
    "pkwb-dark": {
        "comment": "italic #7d8a99",
        "string": "#a5cf8f",
        "escape": "#74c7b8",
        "number": "#e5a97a",
        "keyword": "#8fb3f7",
        "decorator": "#e0af68",
        "function": "bold #e6c384",
        "call": "#d8d2a8",
        "builtin": "#74c7b8",
        "type": "#74c7b8",
        "parameter": "#d3dae3",
    },
    "pkwb-light": {
        "comment": "italic #66707a",
        "string": "#2c6e1f",
        "escape": "#0d6e63",
        "number": "#9a3c00",
        "keyword": "#0b4fa0",
        "decorator": "#8a5300",
        "function": "bold #6a4a00",
        "call": "#5a4a10",
        "builtin": "#0d6e63",
        "type": "#0d6e63",
        "parameter": "#1f2730",
    },
    "ansi-dark": {
        "comment": "italic bright_black",
        "string": "green",
        "escape": "cyan",
        "number": "yellow",
        "keyword": "bold blue",
        "decorator": "magenta",
        "function": "bold",
        "call": "default",
        "builtin": "cyan",
        "type": "cyan",
        "parameter": "default",
    },
}
_PALETTES["ansi-light"] = {**_PALETTES["ansi-dark"], "number": "magenta"}


def code_themes() -> list[TextAreaTheme]:
    """A code theme for each colour theme, of the same name."""
    return [TextAreaTheme(name=name, syntax_styles=_styles(palette)) for name, palette in _PALETTES.items()]


def code_theme_of(theme: str) -> str:
    """The code theme that goes with a colour theme."""
    return theme if theme in _PALETTES else "pkwb-light" if "light" in theme else "pkwb-dark"


def _styles(palette: dict[str, str]) -> dict[str, Style]:
    return {name: Style.parse(palette[role]) for name, role in _ROLES.items()}
