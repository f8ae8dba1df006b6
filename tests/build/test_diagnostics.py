"""Compilers' output as findings."""

from __future__ import annotations

import pytest

from workbench.build.diagnostics import findings, first_error
from workbench.build.model import Finding

CUDA = """__global__ void scale(float* x) {
    int unused = 3;
    x[0] = y + 1;
  asm volatile("bogus.op %0;" ::"f"(x[0]));
}
"""


def error(message: str, line: int = 0, column: int = 0, unit: str = "cuda.cu") -> Finding:
    """An error at a place."""
    return Finding(severity="error", message=message, unit=unit if line else "", line=line, column=column)


def found(output: str) -> list[Finding]:
    """The findings in an output about the text above."""
    return list(findings(output, {"cuda.cu": CUDA, "main.cpp": "int f() { return g(); }\n"}))


def test_cuda_front_end() -> None:
    """An error of CUDA's front end has its line, and the column that the caret shows."""
    output = (
        'cuda.cu(3): error: identifier "y" is undefined\n      x[0] = y + 1;\n             ^\n\n1 error detected.\n'
    )
    assert found(output) == [error('identifier "y" is undefined', 3, 12)]


def test_caret_below_an_expanded_macro() -> None:
    """Behind a macro the column counts from the line's end; where no end of it is as written none is claimed."""
    for shown, column in (("void scale(float* x) {", 17), ("void scale(floats x) {", 0)):
        line = f"  __attribute__((global)) {shown}\n                               ^\n"
        output = f"cuda.cu(1): error: this declaration may not have extern\n{line}"
        assert found(output) == [error("this declaration may not have extern", 1, column)]


def test_message_of_several_lines() -> None:
    """What a message goes on with belongs to it; the line of the text that is shown below it does not."""
    head = 'cuda.cu(3): error: no instance of function "f" matches the argument list\n'
    more = "            argument types are: (int)\n"
    shown = "                               f(3);\n                               ^\n"
    words = 'no instance of function "f" matches the argument list'
    assert [f.message for f in found(head + more + shown)] == [f"{words} argument types are: (int)"]
    assert [f.message for f in found(head + shown)] == [words]


def test_cxx_compiler() -> None:
    """An error of the C++ compiler has line and column; its notes are left out."""
    error_lines = "main.cpp:1:18: error: 'g' was not declared in this scope\n    1 | int f()\n"
    output = f"main.cpp: In function 'int f()':\n{error_lines}main.cpp:1:5: note: see\n"
    assert found(output) == [error("'g' was not declared in this scope", 1, 18, "main.cpp")]


def test_error_in_a_header_stands_where_it_is_included() -> None:
    """An error in a header is told at the user's line that includes it, and names the header."""
    output = "In file included from /x/a.h:3,\n                 from cuda.cu:2:\n/x/b.h:7:1: error: broken\n"
    assert found(output) == [error("broken (in /x/b.h, line 7)", 2)]


def test_missing_header() -> None:
    """A header that is not there is the error, not that compilation was terminated."""
    output = "cuda.cu:1:10: fatal error: nope.h: No such file or directory\n    1 | #include\ncompilation terminated.\n"
    assert found(output) == [error("nope.h: No such file or directory", 1, 10)]


def test_assembler_of_gpus() -> None:
    """What ptxas quotes is found in the one line of inline assembly that has it."""
    output = (
        "ptxas /tmp/x.ptx, line 38; error   : Not a name of any known instruction: 'bogus'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
    )
    assert found(output) == [error("ptxas: Not a name of any known instruction: 'bogus'", 4)]


def test_kernel_that_the_assembler_refuses() -> None:
    """What ptxas says of a kernel as a whole is told where the kernel begins, by its own name."""
    output = "ptxas error   : Entry function '_Z5scalePf' uses too much shared data (0x3d0900 bytes, 0xc000 max)\n"
    words = "ptxas: Entry function 'scale' uses too much shared data (0x3d0900 bytes, 0xc000 max)"
    assert found(output) == [error(words, 1)]


def test_linker_noise_is_folded() -> None:
    """Of a linker's lines the one that says what is missing stays."""
    missing = "cuda.cu:(.text+0x5): undefined reference to `helper(int)'"
    output = (
        f"FAILED: k.so\n/usr/bin/ld: cuda.o: in function `f':\n{missing}\n/bin/ld: cannot find -lnope: No such file\n"
        "collect2: error: ld returned 1 exit status\nninja: build stopped: subcommand failed.\n"
    )
    assert found(output) == [error("undefined reference to `helper(int)'"), error("cannot find -lnope")]


def test_function_that_is_there_twice() -> None:
    """A function that both texts define is told at one of its definitions, without the files of the build."""
    output = (
        "/opt/bin/ld: main.o: in function `f()':\nmain.cpp:(.text+0x0): multiple definition of `f()'; "
        "cuda.o:tmpxft_1_cuda.cudafe1.cpp:(.text+0x2e): first defined here\n"
    )
    assert found(output) == [error("multiple definition of `f()'", 1, 0, "main.cpp")]


def test_unsupported_architecture() -> None:
    """An architecture that nvcc does not know is the error."""
    first = first_error(found("nvcc fatal   : Unsupported gpu architecture 'compute_20'\n"))
    assert first == error("nvcc: Unsupported gpu architecture 'compute_20'")


def test_two_kernels_of_one_name() -> None:
    """The second definition of a kernel is told at its own line."""
    output = 'cuda.cu(5): error: function "scale" has already been defined\n  }\n  ^\n'
    assert found(output) == [error('function "scale" has already been defined', 5, 1)]


def test_figures_of_kernels() -> None:
    """ptxas figures become a note at the kernel, and a warning where registers are spilled."""
    output = (
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function '_Z5scalePf' for 'sm_90'\n"
        "ptxas info    : Function properties for _Z5scalePf\n"
        "    0 bytes stack frame, {0} bytes spill stores, {0} bytes spill loads\n"
        "ptxas info    : Used 10 registers, used 1 barriers, 400 bytes smem\n"
    )
    note, spilled = found(output.format(0)), found(output.format(8))
    assert [(f.severity, f.message, f.line) for f in note] == [
        ("note", "kernel scale: 10 registers, 400 bytes of shared memory, 0 bytes spilled", 1)
    ]
    assert (spilled[0].severity, "16 bytes spilled" in spilled[0].message) == ("warning", True)


def test_names_in_namespaces_and_templates() -> None:
    """A kernel in a namespace, of a template, or with a struct as its first parameter goes by its own name."""
    lines = "ptxas info : Compiling entry function '{}' for 'sm_90'\nptxas info : Used 8 registers\n"
    for mangled in (
        "_ZN3abc5scaleIfLi3EEEvPT_",
        "_ZN37_GLOBAL__N__48dfbcfe_7_anon_cu__Z1fPf5scaleEPf",
        "_Z5scale5PeersPf",
        "_Z5scaleI6__halfEvPT_",
    ):
        assert found(lines.format(mangled))[0].message.startswith("kernel scale:")


def test_warnings_of_headers_are_left_out() -> None:
    """Warnings about other people's headers are no news; the user's own come after the errors."""
    output = (
        '/x/torch.h(3): warning #177-D: variable "a" was declared but never referenced\n'
        'cuda.cu(2): warning #177-D: variable "unused" was declared but never referenced\n'
        'cuda.cu(3): error: identifier "y" is undefined\n'
    )
    assert [(f.severity, f.line) for f in found(output)] == [("error", 3), ("warning", 2)]


def test_error_of_the_text_is_told_first() -> None:
    """What a program says of itself comes after the errors in the user's text, whichever was printed first."""
    output = "nvcc fatal   : 'cicc' died\n/x/torch.h(3): error: broken\ncuda.cu(3): error: no y\n"
    assert [f.unit for f in found(output)] == ["cuda.cu", "", "/x/torch.h"]


@pytest.mark.parametrize("part", ["ld: ", "cuda.cu(1): ", "undefined reference to `f", "ptxas info : Used "])
def test_endless_line(part: str) -> None:
    """A line of a megabyte, which a text can make a compiler print, is got through and is no error by its length."""
    assert found(part * (1_000_000 // len(part))) == []


def test_endless_output_is_cut() -> None:
    """A thousand errors are told as the first fifty."""
    assert len(found("\n".join(f"cuda.cu({n}): error: no {n}" for n in range(1, 1000)))) == 50
