"""Options that belong together, written once as a dataclass and taken by many commands.

    @dataclass(frozen=True)
    class Where:
        city: Annotated[str, typer.Option("--city")] = "Rome"

    @takes_option_groups
    def weather(where: Where, json: Json = False) -> None: ...

`weather` then has the options `--city` and `--json`, and gets a `Where`. A group may hold groups.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def takes_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return `command` with every parameter that is a dataclass replaced by one option per field."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hints[name] for name in inspect.signature(command).parameters if is_dataclass(hints[name])}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _options(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def command_with_groups(**given: Any) -> None:
        made = {name: _make(group, given) for name, group in groups.items()}
        command(**given, **made)

    del command_with_groups.__wrapped__
    command_with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command_with_groups.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command_with_groups


def _options(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if is_dataclass(hints[field.name]):
            yield from _options(hints[field.name])
        else:
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            kind = inspect.Parameter.KEYWORD_ONLY
            yield inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name])


def _make(group: Any, given: dict[str, Any]) -> Any:
    """The `group` of the options of these names, which are taken out of `given`."""
    hints = get_type_hints(group, include_extras=True)
    return group(
        **{
            field.name: _make(hints[field.name], given) if is_dataclass(hints[field.name]) else given.pop(field.name)
            for field in fields(group)
        }
    )
