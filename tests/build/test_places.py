"""Compilers' lines and columns taken back to the user's file."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.build.places import Place, literal_places, place_of
from workbench.build.plan import look

HEAD = "from utils.cuda_helpers import compile_cuda_extension\n"

SOURCES = {
    "raw": ('SRC = r"""\nint a;\nint wrong;\n"""\n', Place(4, 5)),
    "first line": ('SRC = """int wrong;\n"""\n', Place(2, 14)),
    "continued": ('SRC = """\\\nint wrong;\n"""\n', Place(3, 5)),
    "escapes": ('SRC = "int a;\\n\\tint b; int wrong;\\n"\n', Place(2, 29)),
    "side by side": ('SRC = (\n    "int a;\\n"\n    "int wrong;\\n"\n)\n', Place(4, 10)),
    "added": ('A = "int a;\\n"\nSRC = A + "int wrong;\\n"\n', Place(3, 16)),
    "elsewhere too": ('OTHER = r"""\n  int wrong;\n"""\nSRC = r"""\n  int wrong;"""\n', Place(6, 7)),
    "f-string": ('N = 3\nSRC = f"""\nint a[{N}];\nint wrong;\n"""\n', Place(5, 0)),
    "braces": ('N = 3\nSRC = f"""\nvoid f() {{\n  if (a[{N}]) {{ wrong(); }}\n}}\n"""\n', Place(5, 0)),
    "filled in": ('N = 3\nSRC = f"""\nint a[{N}] = {{1, {N}}}, wrong;\n"""\n', Place(4, 0)),
    "other line ends": ('SRC = """\r\nint a;\r\n  int wrong;\r\n"""\r\n', Place(4, 7)),
    "accents": ('SRC = """\n// Größe\n/* é */ int wrong;\n"""\n', Place(4, 13)),
}  # fmt: skip


def found(source: str) -> Place:
    """Where the word ``wrong`` of the built text is said to be."""
    text = HEAD + source + 'compile_cuda_extension("k", SRC)\n'
    planned = look(text).planned[0]
    cuda = planned.request.cuda
    lines = cuda.split("\n")
    line = next(number for number, content in enumerate(lines, 1) if "wrong" in content)
    return place_of(cuda, planned.texts["cuda"], text, line, lines[line - 1].index("wrong") + 1)


@pytest.mark.parametrize("form", SOURCES)
def test_place_in_the_file(form: str) -> None:
    """The place is the one in the user's own file, to the column where the text is a plain literal."""
    source, expected = SOURCES[form]
    assert found(source) == expected


def test_texts_of_a_list() -> None:
    """In a list of texts, which are joined by line breaks, each keeps its own place."""
    text = 'A = "int a;"\nload_inline("k", [A, "int b;",\n  "int wrong;"])\n'
    planned = look(text).planned[0]
    assert planned.request.cpp == "int a;\nint b;\nint wrong;"
    assert place_of(planned.request.cpp, planned.texts["cpp"], text, 3, 5) == Place(3, 8)


def test_line_that_begins_in_another_literal() -> None:
    """Where only the line is known it is that of its first sign, not of blanks that an earlier literal ends with."""
    text = HEAD + 'SRC = ("int a;\\n  "\n  "int wrong;")\ncompile_cuda_extension("k", SRC)\n'
    planned = look(text).planned[0]
    assert place_of(planned.request.cuda, planned.texts["cuda"], text, 2, 0) == Place(3)


def test_ambiguous_line_is_not_guessed() -> None:
    """Where the file holds a line twice and the text is no plain literal, no line is claimed."""
    assert found('N = 1\nSRC = f"""{N}\nint wrong;\n"""\nOTHER = """\nint wrong;\n"""\n') == Place()
    assert found('N = 1\nSRC = f"""int wrong[{N}];"""\nOTHER = f"""int wrong[{N}];"""\n') == Place()


@pytest.mark.parametrize("other", ["int {N};", "x {{ wrong", "{N}", "int wrong{N}{N};;", "int wrong[{N}] = 1"])
def test_other_braces_are_not_taken(other: str) -> None:
    """A line with braces that cannot have come out as the one in question is not its place."""
    source = f'N = 1\nM = 2\nSRC = "int wrong[" f"{{M}}" "];"\nOTHER = f"""\n{other}\n"""\n'
    assert found(source) == Place()


def test_column_behind_the_line() -> None:
    """A column that the line does not have is left out."""
    source = HEAD + 'SRC = """\nint a;\n"""\ncompile_cuda_extension("k", SRC)\n'
    planned = look(source).planned[0]
    assert place_of(planned.request.cuda, planned.texts["cuda"], source, 2, 40) == Place(3, 0)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1))
def test_every_character_has_its_place(text: str) -> None:
    """Whatever a literal holds, each character of its value stands where its place says."""
    source = f"x = 1; y = {text!r}"
    node = ast.parse(source).body[1].value  # type: ignore[attr-defined]
    places = literal_places(node, source)
    assert len(places) == len(text) + 1
    for character, place, behind in zip(text, places, places[1:]):
        written = source[place.column - 1 : behind.column - 1]
        assert ast.literal_eval(f"{source[11]}{written}{source[11]}") == character
