"""Small pieces of text layout shared by the panes."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from textual.content import Content

LABEL = 11
"""Cells of the label before a value."""


def wrapped(text: Content | str, width: int, indent: int = 0) -> list[Content]:
    """Lines of at most ``width`` cells; those after the first begin with ``indent`` blanks."""
    content = Content(text) if isinstance(text, str) else text
    if content.cell_length <= width:
        return [content]
    pad = Content(" " * indent)
    first, *rest = content.wrap(max(8, width))
    if not rest or not indent:
        return [first, *rest]
    tail = content[len(first.plain) :]
    blanks = len(tail.plain) - len(tail.plain.lstrip(" "))
    return [first.rstrip(), *(pad + line.rstrip() for line in tail[blanks:].wrap(max(8, width - indent)))]


def field(label: str, value: Content | str, width: int) -> list[Content]:
    """A dim label and its value, wrapped beside it."""
    content = Content(value) if isinstance(value, str) else value
    lines = wrapped(content, width - LABEL)
    heads = [Content.styled(label.ljust(LABEL), "dim"), *[Content(" " * LABEL)] * (len(lines) - 1)]
    return [head + line for head, line in zip(heads, lines, strict=True)]


def packed(parts: Iterable[str], width: int) -> list[str]:
    """Parts two blanks apart, as many in a line as fit; one that is too wide has a line of its own."""
    lines: list[str] = []
    for part in parts:
        if lines and cell_len(lines[-1]) + 2 + cell_len(part) <= width:
            lines[-1] += f"  {part}"
        else:
            lines.append(part)
    return lines


def heading(text: str) -> Content:
    """A heading within a pane."""
    return Content.styled(text, "bold")


def cells(values: list[tuple[Content, int]]) -> Content:
    """One row of a table: contents cut and padded to their widths, one blank between them; width 0 = all of it."""
    return Content(" ").join(_padded(content, width) for content, width in values).rstrip()


def _padded(content: Content, width: int) -> Content:
    return content.truncate(width, ellipsis=True, pad=True) if width else content
