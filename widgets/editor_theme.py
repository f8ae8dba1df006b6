"""Colours of the code in the editor, one palette for each colour theme; the rest follows the style sheet."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from rich.style import Style
from textual.widgets.text_area import TextAreaTheme


def _role(names: str) -> str:
    """A field of a palette that colours these names of the grammar's highlight query."""
    colour: str = field(metadata={"names": names.split()})
    return colour


@dataclass(frozen=True, kw_only=True)
class Palette:
    """A style for each role of a piece of code."""

    comment: str = _role("comment")
    string: str = _role("string")
    escape: str = _role("string.escape")
    number: str = _role("number float boolean none constant constant.builtin")
    keyword: str = _role(
        "keyword keyword.function keyword.operator keyword.return conditional repeat exception include"
    )
    decorator: str = _role("preproc attribute attribute.builtin")
    function: str = _role("function method")
    call: str = _role("function.call method.call")
    builtin: str = _role("function.builtin variable.builtin")
    type: str = _role("constructor type type.builtin type.class type.definition")
    parameter: str = _role("parameter")

    def styles(self) -> dict[str, Style]:
        """Styles by the names of the highlight query."""
        roles = dataclasses.fields(self)
        return {name: Style.parse(getattr(self, role.name)) for role in roles for name in role.metadata["names"]}


_DARK = Palette(
    comment="italic #7d8a99",
    string="#a5cf8f",
    escape="#74c7b8",
    number="#e5a97a",
    keyword="#8fb3f7",
    decorator="#e0af68",
    function="bold #e6c384",
    call="#d8d2a8",
    builtin="#74c7b8",
    type="#74c7b8",
    parameter="#d3dae3",
)
_LIGHT = Palette(
    comment="italic #66707a",
    string="#2c6e1f",
    escape="#0d6e63",
    number="#9a3c00",
    keyword="#0b4fa0",
    decorator="#8a5300",
    function="bold #6a4a00",
    call="#5a4a10",
    builtin="#0d6e63",
    type="#0d6e63",
    parameter="#1f2730",
)
_ANSI_DARK = Palette(
    comment="italic bright_black",
    string="green",
    escape="cyan",
    number="yellow",
    keyword="bold blue",
    decorator="magenta",
    function="bold",
    call="default",
    builtin="cyan",
    type="cyan",
    parameter="default",
)
PALETTES = {
    "pkwb-dark": _DARK,
    "pkwb-light": _LIGHT,
    "ansi-dark": _ANSI_DARK,
    "ansi-light": dataclasses.replace(_ANSI_DARK, number="magenta"),
}


def code_themes() -> list[TextAreaTheme]:
    """A code theme for each colour theme, of the same name."""
    return [TextAreaTheme(name=name, syntax_styles=palette.styles()) for name, palette in PALETTES.items()]


def code_theme_of(theme: str) -> str:
    """The code theme that goes with a colour theme."""
    return theme if theme in PALETTES else "pkwb-light" if "light" in theme else "pkwb-dark"
