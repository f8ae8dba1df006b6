"""What a look at a candidate's source finds out before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.build.plan import look, request_of
from workbench.ranks.extensions import cuda_extension, inline_extension

IMPORT = "from utils.cuda_helpers import compile_cuda_extension\n"
INLINE = "from torch.utils.cpp_extension import load_inline\n"


def texts(source: str) -> list[str]:
    """The CUDA texts that are found, with nothing left open."""
    plan = look(source)
    assert not plan.unplanned
    return [item.request.cuda for item in plan.planned]


FORMS = {
    "literal": ('compile_cuda_extension("k", "int a;")', "int a;"),
    "constant": ('SRC = "int a;"\ncompile_cuda_extension("k", SRC)', "int a;"),
    "sum": ('A = "int a;"\nB = A + "int b;"\ncompile_cuda_extension("k", "x" + B)', "xint a;int b;"),
    "f-string": ('N = 4\nSRC = f"int a[{N}]; {{}}"\ncompile_cuda_extension("k", SRC)', "int a[4]; {}"),
    "arithmetic": ('N = 4\nSRC = f"{N * 2 + 1}"\ncompile_cuda_extension("k", SRC)', "9"),
    "annotated": ('SRC: str = "int a;"\ncompile_cuda_extension("k", SRC)', "int a;"),
    "keywords": ('compile_cuda_extension(cuda_src="int a;", name="k")', "int a;"),
    "in a function": ('SRC = "int a;"\ndef f():\n    s = SRC\n    return compile_cuda_extension("k", s)', "int a;"),
    "in a branch": ('def f(g):\n    if g:\n        g = compile_cuda_extension("k", "int a;")\n    return g', "int a;"),
    "by attribute": ('import utils.cuda_helpers as h\nh.compile_cuda_extension("k", "int a;")', "int a;"),
    "before its constant": ('def f():\n    return compile_cuda_extension("k", SRC)\nSRC = "int a;"', "int a;"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_text_is_found(form: str) -> None:
    """Text made of constants is known before the file runs, however it is put together."""
    source, expected = FORMS[form]
    assert texts(IMPORT + source) == [expected]


def test_other_name() -> None:
    """A function imported under another name is known too."""
    source = "from utils.cuda_helpers import compile_cuda_extension as build\nbuild('k', 'int a;')"
    assert texts(source) == ["int a;"]


UNKNOWN = {
    "parameter": ('def f(src):\n    return compile_cuda_extension("k", src)', 3, "src"),
    "parameter of that name": ('S = "a"\ndef f(S):\n    return compile_cuda_extension("k", S)', 4, "S is set"),
    "set twice": ('S = "a"\nS = "b"\ncompile_cuda_extension("k", S)', 4, "S is set more than once"),
    "changed": ('S = "a"\nS += "b"\ncompile_cuda_extension("k", S)', 4, "S is set more than once"),
    "loop": ('for S in ("a", "b"):\n    compile_cuda_extension("k", S)', 3, "S is set"),
    "function": ('compile_cuda_extension("k", open("k.cu").read())', 2, "only known when the file runs"),
    "star": ('compile_cuda_extension(**{"name": "k"})', 2, "**"),
    "wrong call": ('compile_cuda_extension("k")', 2, "cuda_src"),
    "itself": ('S = S + "a"\ncompile_cuda_extension("k", S)', 3, "itself"),
    "global": ('S = "a"\ndef f():\n    global S\n    compile_cuda_extension("k", S)', 5, "S"),
    "set from a function": (
        'S = "a"\ndef f():\n    global S\n    S = "b"\ncompile_cuda_extension("k", S)',
        6,
        "S is set more than once",
    ),
    "imported later": ('S = "a"\nfrom texts import S\ncompile_cuda_extension("k", S)', 4, "S is set"),
    "defined later": ('S = "a"\ndef S(): ...\ncompile_cuda_extension("k", S)', 4, "S is set"),
    "caught": ('S = "a"\ntry: ...\nexcept OSError as S: ...\ncompile_cuda_extension("k", S)', 5, "S is set"),
    "matched": ('S = "a"\nmatch x:\n    case [S]: ...\ncompile_cuda_extension("k", S)', 5, "S is set"),
    "appended": ('F = ["-O2"]\nF.append("-G")\ncompile_cuda_extension("k", "a", F)', 4, "F is changed"),
    "item set": ('F = ["-O2"]\ndef f(): F[0] = "-G"\ncompile_cuda_extension("k", "a", F)', 4, "F is changed"),
    "no text": ('compile_cuda_extension("k", "  ")', 2, "no text"),
}


@pytest.mark.parametrize("form", UNKNOWN)
def test_unknown_text_is_said(form: str) -> None:
    """What cannot be known ahead is named with its line and the reason, and nothing is guessed."""
    source, line, why = UNKNOWN[form]
    plan = look(IMPORT + source)
    assert not plan.planned
    assert [(call.line, why in call.why) for call in plan.unplanned] == [(line, True)]


BOMBS = {
    "names twice each": 'A0 = ""\n' + "".join(f"A{n + 1} = A{n} + A{n}\n" for n in range(40)),
    "four times each": 'A0 = ""\n' + "".join(f"A{n + 1} = A{n} + A{n} + A{n} + A{n}\n" for n in range(40)),
    "not deep": 'A0 = ""\n' + "".join(f"A{n + 1} = A{n} + A{n} + A{n} + A{n}\n" for n in range(20)) + "A40 = A20",
    "long text": f'A0 = "{"x" * 64}"\n' + "".join(f"A{n + 1} = A{n} + A{n}\n" for n in range(16)) + "A40 = A16",
    "long f-string": f'A0 = "{"x" * 64}"\nA1 = f"{"{A0}" * 100}"\nA2 = f"{"{A1}" * 100}"\nA40 = f"{"{A2}" * 100}"',
    "lists": 'A0 = ["x"]\n' + "".join(f"A{n + 1} = [A{n}, A{n}]\n" for n in range(40)),
    "number": "A0 = 7\n" + "".join(f"A{n + 1} = A{n} * A{n}\n" for n in range(30)) + 'A40 = f"{A30}"',
    "factors": "A40 = " + " * ".join(["9999"] * 900),
}


@pytest.mark.parametrize("form", BOMBS)
def test_text_that_grows_without_end(form: str) -> None:
    """Constants that would take for ever to add up, or fill the memory, are left to the ranks."""
    plan = look(f'{IMPORT}{BOMBS[form]}\ncompile_cuda_extension("k", A40)')
    assert (plan.planned, len(plan.unplanned)) == ((), 1)


def test_text_of_many_lines() -> None:
    """A text may be added up from hundreds of lines."""
    lines = " + ".join(f'"int a{n};\\n"' for n in range(500))
    assert texts(f'{IMPORT}SRC = {lines}\ncompile_cuda_extension("k", SRC)')[0].count("\n") == 500


def test_expression_too_deep_to_look_at() -> None:
    """A file with an expression that no look gets through is left to the ranks."""
    source = IMPORT + "x = " + " + ".join(["1"] * 3000) + '\ncompile_cuda_extension("k", "int a;")'
    assert look(source).planned == ()


def test_same_request_as_the_rank_makes() -> None:
    """The build that is started ahead is the one that the rank will ask for, flags and folders included."""
    source = (
        'compile_cuda_extension("k", "int a;", ["-lineinfo"], extra_include_paths=("/x",), extra_ldflags=["-lcuda"])'
    )
    made = cuda_extension("k", "int a;", ["-lineinfo"], extra_include_paths=("/x",), extra_ldflags=["-lcuda"])
    assert [item.request for item in look(IMPORT + source).planned] == [request_of(made)]


def test_load_inline_with_functions() -> None:
    """PyTorch's own call is known, with the module that it makes of a list of functions."""
    source = (
        'load_inline("k", ["int f();", "int g();"], "int f() { return 1; }", functions=["f"], extra_cflags=["-O2"])'
    )
    made = inline_extension(
        "k", ["int f();", "int g();"], "int f() { return 1; }", functions=["f"], extra_cflags=["-O2"]
    )
    request = look(INLINE + source).planned[0].request
    assert request == request_of(made)
    assert 'm.def("f", torch::wrap_pybind_function(f), "f");' in request.cpp


def test_what_torch_must_build_itself() -> None:
    """Calls that the service cannot serve are left to torch, and said so."""
    plan = look(INLINE + 'load_inline("k", "int f();", is_python_module=False)')
    assert [call.function for call in plan.unplanned] == ["load_inline"]


def test_two_extensions_of_one_name() -> None:
    """Two different texts under one name are two builds; the same text twice is one."""
    call = 'compile_cuda_extension("k", "{}")\n'
    source = IMPORT + call.format("int a;") + call.format("int b;") + call.format("int a;")
    assert texts(source) == ["int a;", "int b;"]


@pytest.mark.parametrize("source", ["def f(:\n", "x = 1\n", "\0", IMPORT + "(" * 5000])
def test_nothing_to_build(source: str) -> None:
    """A file that is no Python, or asks for nothing, has an empty plan."""
    assert look(source + ("" if "compile" in source else "# compile_cuda_extension")).planned == ()


GOOD = cuda_extension("k", "int a;")
BAD: dict[str, dict[str, Any]] = {
    "name is a number": {"name": 3},
    "no source": {"cuda": None},
    "flags are text": {"cuda_flags": "-O3"},
    "flag is a list": {"ld_flags": [["-lcuda"]]},
    "zero byte": {"includes": ["/a\0b"]},
    "empty": {"cuda": ""},
    "half a character": {"cuda": "// \ud800"},
    "half a character in a flag": {"cuda_flags": ["-DX=\udcff"]},
    "name without end": {"name": "k" * 300},
    "ten megabytes": {"cuda": "x" * 10_000_000},
}


@pytest.mark.parametrize("case", BAD)
def test_forged_request_is_refused(case: str) -> None:
    """What a rank sends is checked: anything but texts and lists of texts is refused."""
    request_of(GOOD)
    with pytest.raises(ValueError, match=r"text|list|buil|name"):
        request_of({**GOOD, **BAD[case]})
