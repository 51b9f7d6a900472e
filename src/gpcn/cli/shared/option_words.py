"""The words of the command line for the options that errors name."""

from __future__ import annotations

import shlex

from gpcn.core.errors import Option


def command_line_words(option: Option) -> str:
    """Return such as `--random-splits 5`, behind the name of the command where the option is another's."""
    command = () if option.command is None else ("gpcn", option.command)
    value = () if option.value is None else (shlex.quote(str(option.value)),)
    return " ".join((*command, f"--{option.name.replace('_', '-')}", *value))
