"""Rendering of prompts: templates are files, and a file of the same name in the user's folder goes first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from workbench.errors import UsageError

OWN = Path(__file__).with_name("texts")
"""The templates that come with pkwb."""


class Templates:
    """The templates of one run. ``folder`` is ``llm.templates``, empty for pkwb's own alone."""

    def __init__(self, folder: str = "") -> None:
        if folder and not Path(folder).is_dir():
            raise UsageError(f"llm.templates: {folder} is not a folder; name one, or leave it empty")
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([*filter(None, [folder]), OWN]),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )

    def render(self, name: str, facts: dict[str, Any]) -> str:
        """The text; UsageError names a template that cannot be found, parsed or filled in."""
        try:
            return self._environment.get_template(name).render(facts).strip() + "\n"
        except jinja2.TemplateNotFound as error:
            raise UsageError(f"there is no template {error.name}; put one into the folder of llm.templates") from None
        except jinja2.TemplateSyntaxError as error:
            raise UsageError(f"{error.filename or name}:{error.lineno}: {error.message}") from None
        except jinja2.TemplateError as error:
            raise UsageError(f"template {name}: {error.message}; docs/model.md lists what it can use") from None
