"""The command line. stdout is data, stderr is for people.

Exit codes: 0 ok, 1 judged and not ok, 2 usage, 3 pkwb's own machinery failed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Protocol, cast

from workbench import __version__
from workbench.errors import INTERRUPTED, InfraError, PkwbError, UsageError

_PROBLEMS = {
    "open": "open a problem in the workbench",
    "eval": "judge one file without the screen",
    "list": "list the problems",
    "show": "print a problem's statement, shapes and figures",
}
_MODELS = {
    "prompt": "print what a language model is told of a problem",
    "solve": "let a language model propose kernels, judged one by one",
    "scores": "pass@k and fast_p of language models, from what is kept",
}
_MACHINE = {
    "doctor": "check this machine and say what it means for you",
    "topology": "draw where the ranks run and how they are linked",
    "bench": "measure how fast ranks reach each other",
}
_KEPT = {
    "build": "compile what a file will ask for, without running it",
    "cache": "show or clear what was built",
    "sessions": "list, show, compare and export earlier attempts",
}
COMMANDS: dict[str, str] = {**_PROBLEMS, **_MODELS, **_MACHINE, **_KEPT}
"""Each name is a module in :mod:`workbench.commands`."""


_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What writing to a file that stdout was led to may end in."""


class Command(Protocol):
    """What a module in :mod:`workbench.commands` offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; returns the exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except PkwbError as error:
        print(f"pkwb: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader has gone; without this the interpreter's last flush would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if error.filename is not None or error.errno not in _NOT_WRITTEN:
            return _own_fault()
        # As above: what is left in the buffer cannot be written either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        why = f"the output cannot be written: {error.strerror}"
        print(f"pkwb: {why}; free its disk or write elsewhere", file=sys.stderr)
        return InfraError.exit_code
    except Exception:
        return _own_fault()


def _own_fault() -> int:
    """Show the error that is being handled; Python's own exit code would be 1, which means "judged and not ok"."""
    traceback.print_exc()
    print("pkwb: this is a fault in pkwb, not in your file", file=sys.stderr)
    return InfraError.exit_code


def _run(arguments: list[str]) -> int:
    chosen = next((word for word in arguments if not word.startswith("-")), "")
    parser, of_command = _parser(chosen)
    if not arguments:
        parser.print_help(sys.stderr)
        return UsageError.exit_code
    namespace, rest = parser.parse_known_args(arguments)
    if rest:
        of_command.error(f"unrecognized arguments: {' '.join(rest)}")
    result: int = _module(namespace.command).run(namespace)
    sys.stdout.flush()
    return result


def _parser(chosen: str) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """The parser of the program, and that of the chosen command: the same where none was chosen."""
    if chosen and chosen not in COMMANDS:
        near = difflib.get_close_matches(chosen, COMMANDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"commands are {', '.join(COMMANDS)}"
        raise UsageError(f"{chosen} is not a command; {hint}")
    parser = argparse.ArgumentParser(prog="pkwb", description="A terminal workbench for multi-GPU kernels.")
    parser.add_argument("--version", action="version", version=f"pkwb {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        subparser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if name == chosen:
            _module(name).add_arguments(subparser)
    return parser, commands.choices.get(chosen, parser)


def _module(name: str) -> Command:
    return cast("Command", importlib.import_module(f"workbench.commands.{name}"))


if __name__ == "__main__":
    sys.exit(main())
