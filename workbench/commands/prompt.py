"""``pkwb prompt``: what a language model is told of a problem, from the workbench's own facts."""

from __future__ import annotations

import argparse
import json

from workbench.commands.arguments import TARGET_KEYS, add_flags, add_json, add_problem, flag_values
from workbench.resolve import Opener
from workbench.settings import load_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_problem(parser)
    add_flags(parser, *TARGET_KEYS, "llm.require")
    add_json(parser, "print one JSON object: the messages, and their SHA-256 as the session store has it")


def run(arguments: argparse.Namespace) -> int:
    """Print the beginning of a conversation."""
    from workbench.llm.client import prompt_digest
    from workbench.llm.prompt import conversation_start

    flags = flag_values(arguments)
    settings = load_settings(flags)
    target = Opener(settings, None, "run.dtype" not in flags).target(arguments.problem)
    messages = conversation_start(target, settings)
    if arguments.json:
        head = {"problem": target.problem.stem, "backend": target.backend, "digest": prompt_digest(messages)}
        print(json.dumps({**head, "messages": messages}, indent=1))
    else:
        print("\n".join(message["content"] for message in messages), end="")
    return 0
