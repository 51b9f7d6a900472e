"""`gpcn models`: every model with formula, paper and hyperparameters."""

from __future__ import annotations

from typing import Annotated

import typer

from gpcn.cli.options import Json
from gpcn.cli.output import console, print_json, safe, table


def models(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Describe this model alone.")] = None,
    json: Json = False,
) -> None:
    """List the models, or describe one.

    Examples: [bold]gpcn models[/bold], [bold]gpcn models gpcn-link --json[/bold]
    """
    from gpcn.nn import zoo

    if name is None:
        entries = [zoo.entry(model) for model in zoo.names()]
        if json:
            print_json([entry.describe() for entry in entries])
            return
        shown = table("name", "logits", "hyperparameters")
        for entry in entries:
            shown.add_row(entry.name, safe(entry.formula), ", ".join(h.name for h in entry.hyperparameters))
        console().print(shown, highlight=False)
        return
    chosen = zoo.entry(name)
    if json:
        print_json(chosen.describe())
        return
    to = console()
    to.print(f"[bold]{chosen.name}[/bold]  {safe(chosen.formula)}\n{chosen.paper}\n", highlight=False)
    shown = table("hyperparameter", "default", "allowed", "searched", "what it is")
    for setting in chosen.hyperparameters:
        tried = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in setting.space) or "–"
        shown.add_row(setting.name, str(setting.default), setting.expectation(), tried, safe(setting.about))
    to.print(shown, highlight=False)
