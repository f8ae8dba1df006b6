"""Which compiler flags a candidate may give: what changes the code that is made, and nothing that runs programs, reads
options from files or writes elsewhere.
"""

from __future__ import annotations

import dataclasses
import keyword
import os
import re
import shlex
from collections.abc import Sequence
from typing import Any

from workbench.build.model import Finding, Request

_PATH = r"[^\0\n,]+"
"""A path as part of a flag."""


def _patterns(text: str) -> tuple[str, ...]:
    """Patterns of whole flags, separated by white space."""
    return tuple(text.split())


_HOST = _patterns(
    rf"""
    -O([0-3sg]|fast)? -std=[\w+]+ -[DU]\w+(=[^\0\n]*)? -I{_PATH} -g\d? -pthread -pipe -w
    -W(no-)?(error=)?[a-z][\w+=\-]* -m(?!rop)[\w+=\-.]+
    -f(?!plugin|dump|profile|auto-profile|save|compare|callgraph|stack-usage)[\w+=\-.]+
    """
)
_PTXAS = _patterns(
    r"""
    -v --verbose -O[0-3] --opt-level=[0-3] -[a-z]+cm=[a-z]+ --def-(load|store)-cache=[a-z]+ -?-warn-[\w\-]+
    -?-allow-expensive-optimizations=(true|false) -?-maxrregcount=\d+ -?-fmad=(true|false) -?-suppress-[\w\-]+
    -?-(lineinfo|generate-line-info|disable-warnings|w|sp-bounds-check) -?-register-usage-level=\d+
    """
)
_NVCC = _HOST + _patterns(
    r"""
    -?-use_fast_math -?-(expt-)?(relaxed-constexpr|extended-lambda) -?-extra-device-vectorization -?-optimize=[0-3]
    -?-(arch|code|gpu-architecture|gpu-code)=[\w,]+ -?-(gencode|generate-code)=[\w,=\[\]\"]+
    -G -v -lineinfo --generate-line-info --(device-)?debug -t=?\d+
    -?-(maxrregcount|threads|split-compile|ftz|prec-div|prec-sqrt|fmad|default-stream)=[\w\-]+
    -?-(res-usage|resource-usage|verbose|disable-warnings|rdc|relocatable-device-code)(=\w+)?
    -?-diag-(suppress|warn|error)=[\d,]+ -?-(Werror|Wno-[\w\-]+)(=[\w,\-]+)? -?-forward-unknown-to-host-compiler
    -(Xcudafe|cudafe-options)=-?-(diag_\w+=[\w,]+|display_error_number)
    """
)
_LINKER = "-?-(no-)?as-needed|-?-(start|end)-group|-?-(no-)?whole-archive|-?-no-undefined|-Bsymbolic|-?-gc-sections"
_LD = _patterns(
    rf"""
    -l:?[\w.+\-]+ -L{_PATH} -pthread -fopenmp -s -O[0-3] /{_PATH}\.(so(\.\d+)*|a)
    -Wl,-?-rpath[,=]{_PATH} -Wl,-z,[a-z]+ -Wl,({_LINKER})(,({_LINKER}))*
    """
)
_TAKES_VALUE = re.compile(
    r"-?-(gencode|generate-code|arch|gpu-architecture|code|gpu-code|maxrregcount|threads|split-compile|default-stream|"
    r"diag-suppress|ftz|prec-div|prec-sqrt|fmad|std|rdc|Xptxas|ptxas-options|Xcompiler|compiler-options|Xcudafe|optimize)"
)
_GLUED = ("-D", "-U", "-I", "-L", "-l", "-t")
"""Flags whose value may follow as the next word, and is then written right behind them."""
_SAFE = re.compile(r"[\w./=,:+@%\-\[\]]*")
"""nvcc runs its own steps through a shell, which would run what it finds in a definition or a path."""
_INTO_SOURCE, _OTHER_FOLDER = (
    "write such values into the source",
    "give a folder with a plain name",
)
_PASSED_ON = {
    "-Xptxas": _PTXAS,
    "--ptxas-options": _PTXAS,
    "-ptxas-options": _PTXAS,
    "-Xcompiler": _HOST,
    "--compiler-options": _HOST,
    "-compiler-options": _HOST,
}
_KINDS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "cuda_flags": (
        "extra_cuda_cflags",
        _NVCC,
        "-O, -std, -D, -I, -f, -W, -m, -gencode, -arch, -Xptxas, -lineinfo, --use_fast_math and the like",
    ),
    "cpp_flags": ("extra_cflags", _HOST, "-O, -std, -D, -I, -f, -W, -m, -g and -pthread"),
    "ld_flags": ("extra_ldflags", _LD, "-l, -L, -Wl,-rpath, -pthread, -fopenmp and the absolute path of a library"),
}


def checked(request: Request) -> tuple[Request, tuple[Finding, ...]]:
    """The request with its flags as single words and its folders absolute, and an error for what is not allowed: flags,
    and a name that no module can have."""
    findings = [Finding(severity="error", message=words) for words in _wrong_name(request.name)]
    found: dict[str, Any] = {}
    for field, (argument, allowed, words) in _KINDS.items():
        flags, wrong = _words(getattr(request, field))
        wrong += [flag for flag in flags if not _is_allowed(flag, allowed)]
        found[field] = tuple(flags)
        findings += [Finding(severity="error", message=_refusal(flag, argument, words)) for flag in wrong]
    includes = tuple(os.path.abspath(folder) for folder in request.includes)
    for given, advice in ((found["cuda_flags"], _INTO_SOURCE), (includes, _OTHER_FOLDER)) if request.cuda else ():
        findings += [
            Finding(severity="error", message=_of_a_shell(word, advice)) for word in given if not _SAFE.fullmatch(word)
        ]
    return dataclasses.replace(request, includes=includes, **found), tuple(findings)


def _wrong_name(name: str) -> list[str]:
    right = name.isidentifier() and not keyword.iskeyword(name)
    return [] if right else [f"{name!r} cannot be the name of a module: use letters, digits and _"]


def names_architecture(flags: Sequence[str]) -> bool:
    """Whether flags for nvcc say which GPU to compile for."""
    return any(re.match(r"-?-(gencode|generate-code|arch|gpu-architecture)=", flag) for flag in flags)


def _of_a_shell(word: str, advice: str) -> str:
    return f"{word[:200]!r} holds characters that nvcc would hand to a shell: {advice}"


def _refusal(flag: str, argument: str, allowed: str) -> str:
    return f"{flag[:200]!r} is not allowed in {argument}: take it out (allowed: {allowed})"


def _words(flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """Flags as single words, each with its value, and those that cannot be read. A shell would split them as here."""
    words: list[str] = []
    wrong: list[str] = []
    for flag in flags:
        try:
            words += shlex.split(flag)
        except ValueError:
            wrong.append(flag)
    joined: list[str] = []
    rest = iter(words)
    for word in rest:
        if _TAKES_VALUE.fullmatch(word):
            joined.append(f"{word}={next(rest, '')}")
        else:
            joined.append(word + next(rest, "") if word in _GLUED else word)
    return joined, wrong


def _is_allowed(flag: str, allowed: tuple[str, ...]) -> bool:
    name, _, value = flag.partition("=")
    if allowed is _NVCC and name in _PASSED_ON:
        return all(_matches(part, _PASSED_ON[name]) for part in value.split(","))
    return _matches(flag, allowed)


def _matches(flag: str, patterns: tuple[str, ...]) -> bool:
    return any(re.fullmatch(pattern, flag) for pattern in patterns)
