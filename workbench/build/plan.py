"""A look at a candidate's source before anything runs: which extensions it will ask for, where their text stands."""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from workbench.build.constants import Scope, Text, Unknown, evaluate
from workbench.build.loading import UNREADABLE
from workbench.build.model import Request
from workbench.ranks.extensions import CALLS, Unsupported

_LONGEST_NAME = 200
_LONGEST = 5_000_000
"""Bytes of the longest request; it fits into a message even when every character is escaped."""
_MOST_CALLS = 256
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Planned:
    """One extension that the file asks for with constants. ``line`` is that of the call."""

    request: Request
    line: int
    texts: dict[str, Text]
    """The texts of its units as they are written, by the field of the request."""


@dataclass(frozen=True)
class Unplanned:
    """A call whose arguments are not known before the file runs, or that is left to torch."""

    function: str
    line: int
    why: str


@dataclass(frozen=True)
class Plan:
    """What a source will ask for."""

    planned: tuple[Planned, ...] = ()
    unplanned: tuple[Unplanned, ...] = ()

    @property
    def wants_cuda(self) -> bool:
        """Whether CUDA text is known to be built."""
        return any(item.request.cuda for item in self.planned)


def look(text: str, path: str = "") -> Plan:
    """The plan of a source; empty for one that is no Python, which the ranks tell by themselves."""
    if not any(name in text for name in CALLS):
        return Plan()
    try:
        tree = ast.parse(text, path or "<candidate>")
        names = _names_of_calls(tree)
        calls = list(islice(_calls(tree.body, Scope(tree.body), names), _MOST_CALLS))
        found = [_planned(call, function, scope) for call, function, scope in calls]
    except UNREADABLE:
        return Plan()
    planned: dict[str, Planned] = {}
    for item in found:
        if isinstance(item, Planned):
            planned.setdefault(item.request.digest, item)
    return Plan(tuple(planned.values()), tuple(item for item in found if isinstance(item, Unplanned)))


def _names_of_calls(tree: ast.Module) -> dict[str, str]:
    """The names under which the file knows the functions."""
    names = {name: name for name in CALLS}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {item.asname: item.name for item in node.names if item.asname and item.name in CALLS}
    return names


def _calls(body: list[Any], scope: Scope, names: dict[str, str]) -> Iterator[tuple[ast.Call, str, Scope]]:
    """Calls of these functions with the scope that each stands in, in the order of the text."""
    for node in body:
        if isinstance(node, _Function):
            inner = Scope(node.body if isinstance(node.body, list) else [], scope)
            inner.hide([argument.arg for argument in _parameters(node.args)])
            yield from _calls(list(ast.iter_child_nodes(node)), inner, names)
            continue
        if isinstance(node, ast.Call) and (name := names.get(_called(node))):
            yield node, name, scope
        yield from _calls(list(ast.iter_child_nodes(node)), scope, names)


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    more = [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *more]


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _planned(call: ast.Call, function: str, scope: Scope) -> Planned | Unplanned:
    try:
        positional = [evaluate(argument, scope) for argument in call.args]
        named = {item.arg: evaluate(item.value, scope) for item in call.keywords if item.arg}
        if len(named) < len(call.keywords):
            raise Unknown("it is called with **")
        message = CALLS[function](*(_bare(value) for value in positional), **{k: _bare(v) for k, v in named.items()})
        request = request_of(message)
    except (Unknown, Unsupported) as error:
        return Unplanned(function, call.lineno, str(error))
    except (TypeError, ValueError) as error:
        return Unplanned(function, call.lineno, f"it does not take these arguments: {error}")
    texts = {kind: text for kind, text in _unit_texts(function, positional, named).items() if text is not None}
    return Planned(request, call.lineno, texts)


def request_of(message: dict[str, Any]) -> Request:
    """A request from a message as :mod:`workbench.ranks.extensions` makes it; ValueError for any other.

    The message may come from a candidate.
    """
    texts = {field: message.get(field) for field in ("name", "cuda", "cpp")}
    lists = {field: message.get(field) for field in ("cuda_flags", "cpp_flags", "ld_flags", "includes")}
    if not all(isinstance(value, str) for value in texts.values()):
        raise ValueError("name and sources must be texts")
    for field, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(item, str) and "\0" not in item for item in value):
            raise ValueError(f"{field} must be a list of texts")
    fields: dict[str, Any] = {**texts, **{field: tuple(value or ()) for field, value in lists.items()}}
    if not fields["cuda"].strip() and not fields["cpp"].strip():
        raise ValueError("there is no text to build")
    request = Request(**fields)
    _check_sizes(request)
    return request


def _check_sizes(request: Request) -> None:
    """ValueError for what fits neither into a file's name, a file, nor a message to the builder."""
    if len(request.name) > _LONGEST_NAME:
        raise ValueError(f"the module's name is longer than {_LONGEST_NAME} characters")
    try:
        written = json.dumps(dataclasses.asdict(request), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("name, flags or sources hold half a surrogate pair, which is no valid text") from None
    if len(written) > _LONGEST:
        raise ValueError(f"sources and flags are {len(written) / 1e6:.1f} MB; at most {_LONGEST / 1e6:g} MB are built")


def _unit_texts(function: str, positional: list[Any], named: dict[str, Any]) -> dict[str, Text | None]:
    """The written texts by the field of the request that they are in; lists are joined by line breaks there."""
    places = (
        {"cuda": ("cuda_src", 1)}
        if function == "compile_cuda_extension"
        else {"cpp": ("cpp_sources", 1), "cuda": ("cuda_sources", 2)}
    )
    found = {}
    for field, (name, index) in places.items():
        value = named.get(name, positional[index] if len(positional) > index else None)
        found[field] = _joined(value) if isinstance(value, list) else value if isinstance(value, Text) else None
    return found


def _joined(values: list[Any]) -> Text | None:
    if not all(isinstance(value, Text) for value in values):
        return None
    parts: list[tuple[str, ast.Constant | None]] = []
    for index, value in enumerate(values):
        parts += ([("\n", None)] if index else []) + list(value.parts)
    return Text(tuple(parts))


def _bare(value: Any) -> Any:
    """A value with plain texts."""
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items()}
    return [_bare(item) for item in value] if isinstance(value, list) else value
