"""Modules that the build service made: a rank asks for one through the socket in its set's scratch folder."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import re
import socket
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

from workbench.ranks.channel import Channel, Message
from workbench.ranks.extensions import Unsupported, inline_extension

SOCKET_NAME = "build"
"""The socket in the scratch folder of a set, which is the TMPDIR of its ranks."""
_UNDEFINED = re.compile(r"undefined symbol: (\w+)")
_ANOTHER_TORCH = ("slim:", "undefined symbol:")
"""What the import of a quick build's library says where torch, or a library that it links, is not as it expects."""
_LONGEST_PATH = 100
"""Bytes of the longest path that all systems take as a socket's address."""


class BuildError(RuntimeError):
    """The extension could not be built; the text is the first error and where it is."""


def built_module(request: Message) -> ModuleType:
    """The module that a request asks for, built once for all ranks; BuildError says why there is none.

    Should the library of the quick build not fit this torch, which it checks when it is imported, the full build is
    asked for.
    """
    try:
        return _import(request["name"], _ask(request, full=False))
    except ImportError as error:
        if not any(mark in str(error) for mark in _ANOTHER_TORCH):
            raise
    try:
        return _import(request["name"], _ask(request, full=True))
    except ImportError as error:
        if lacking := _UNDEFINED.search(str(error)):
            raise BuildError(undefined_words(_readable(lacking[1]))) from error
        raise


def undefined_words(name: str) -> str:
    """What is told of a function or variable that a library uses and nothing defines."""
    advice = "define it with exactly these parameters, or name its library in extra_ldflags"
    return f"undefined symbol {name}: no source and no library defines it; {advice}"


def _readable(name: str) -> str:
    """A linker's name as it is written in C++, where this torch can tell."""
    from torch import _C

    demangle = getattr(_C, "_demangle", str)
    return str(demangle(name))


def serve_load_inline() -> None:
    """Have ``torch.utils.cpp_extension.load_inline`` go through the build service wherever it can."""
    from torch.utils import cpp_extension

    if not isinstance(cpp_extension.load_inline, partial):
        cpp_extension.load_inline = partial(_load_inline, cpp_extension.load_inline)


def _load_inline(original: Any, *args: Any, **kwargs: Any) -> Any:
    served = os.path.exists(_socket())
    try:
        request = inline_extension(*args, **kwargs)
    except Unsupported:
        served = False
    return built_module(request) if served else original(*args, **kwargs)


def _ask(request: Message, full: bool) -> str:
    """The path of the library, once it is there."""
    channel = Channel(_connected(_socket()))
    try:
        channel.send({**request, "full": full})
        answer = channel.receive()
    finally:
        channel.close()
    if answer is None:
        raise BuildError("the build was given up")
    if not answer["library"]:
        raise BuildError(answer["reason"])
    return str(answer["library"])


def _socket() -> str:
    return os.path.join(os.environ.get("TMPDIR", ""), SOCKET_NAME)


def _connected(path: str) -> int:
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with address(path) as short:
            end.connect(short)
    except OSError as error:
        end.close()
        raise BuildError(f"extensions are built for candidates only, while they are judged ({error})") from None
    return end.detach()


@contextlib.contextmanager
def address(path: str) -> Iterator[str]:
    """A name for a socket's path that is short enough to be an address."""
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield path
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)


def _import(name: str, library: str) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(name, library)
    spec = importlib.util.spec_from_file_location(name, library, loader=loader)
    if spec is None:
        raise BuildError(f"{library} is no library that Python can load")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
