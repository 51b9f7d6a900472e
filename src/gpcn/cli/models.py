"""`gpcn models`: every model with formula, paper and hyperparameters."""

from __future__ import annotations

from typing import Annotated

import typer

from gpcn.cli.shared.options import Json
from gpcn.cli.shared.output import console, escaped, plain_table, print_json


def models(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Describe this model alone.")] = None,
    json: Json = False,
) -> None:
    """List the models, or describe one.

    Examples: [bold]gpcn models[/bold], [bold]gpcn models gpcn-link --json[/bold]
    """
    from gpcn.nn import zoo

    if name is None:
        if json:
            print_json([model.describe() for model in zoo.specifications()])
            return
        shown = plain_table("name", "logits", "hyperparameters")
        for model in zoo.specifications():
            shown.add_row(model.name, escaped(model.formula), ", ".join(h.name for h in model.hyperparameters))
        console().print(shown, highlight=False)
        return
    chosen = zoo.specification_of(name)
    if json:
        print_json(chosen.describe())
        return
    to = console()
    to.print(f"[bold]{chosen.name}[/bold]  {escaped(chosen.formula)}\n{chosen.paper}\n", highlight=False)
    shown = plain_table("hyperparameter", "default", "allowed", "searched", "what it is")
    for setting in chosen.hyperparameters:
        tried = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in setting.space) or "–"
        shown.add_row(setting.name, str(setting.default), setting.expectation(), tried, escaped(setting.about))
    to.print(shown, highlight=False)
