"""`gpcn demo`: the whole story on a graph made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.cli.compare import print_comparison as show_comparison
from gpcn.cli.convert import write_graph
from gpcn.cli.inspect import print_inspection as show_inspection
from gpcn.cli.shared.options import Json
from gpcn.cli.shared.output import console, escaped, print_json
from gpcn.data.graph_record import GraphSource
from gpcn.data.inspection import inspect
from gpcn.data.load import load
from gpcn.data.synthetic import synthesize

GRAPH: dict[str, Any] = {"nodes": 2000, "classes": 4, "homophily": 0.1, "mixing": "ring", "signal": 1.0, "seed": 7}
SETTINGS = {"epochs": 120, "patience": 40, "hidden": 32, "layers": 2, "weight_decay": 1e-3}


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for what the demo writes.")] = Path("demo"),
    json: Json = False,
) -> None:
    """Make a graph whose neighbours disagree, describe it, compare models on it, predict its unlabelled nodes, report.

    Example: [bold]gpcn demo --out /tmp/demo[/bold]
    """
    from gpcn import report
    from gpcn.cli.shared.progress import training_progress
    from gpcn.nn import zoo
    from gpcn.runs.model_comparison import train_models
    from gpcn.runs.predictions import prediction
    from gpcn.runs.run import Run

    to = console()
    drawn = synthesize(**GRAPH, unlabelled=0.1, splits=3)
    folder = out / "graph"
    write_graph(drawn, folder)
    graph = load(folder)
    facts = inspect(graph)
    if not json:
        to.print(
            f"A social network of {drawn.num_nodes:,} people in {drawn.num_classes} groups, made on the spot: people "
            f"link to neighbouring\ngroups, rarely to their own. Written to {escaped(folder)} as CSV and read back:\n",
            highlight=False,
        )
        show_inspection(facts, to)
        to.print("\nNine models, and the majority, on the same three splits:\n", highlight=False)
    comparison = train_models(
        graph,
        zoo.USUAL,
        dict(SETTINGS),
        out=out / "runs",
        jobs=1,
        source=GraphSource.of(folder),
        progress=training_progress,
    )
    best = str(comparison.chosen_on_validation)
    predicted = prediction.predict(Run.open(out / "runs" / best), graph, only_unlabelled=True)
    table = out / "predictions.csv"
    prediction.write(predicted, table)
    truth = synthesize(**GRAPH, splits=0).labels
    right = float((predicted.probabilities.argmax(axis=1) == truth[predicted.nodes]).mean())
    page = out / "report.html"
    report.write(out / "runs", page)
    if json:
        story = {"graph": str(folder), "inspection": facts, "comparison": comparison, "report": str(page)}
        print_json(story | {"predictions": str(table), "predicted": len(predicted.nodes), "predicted_right": right})
        return
    show_comparison(comparison)
    to.print(
        f"\n{best}, the best on validation nodes, predicted the {len(predicted.nodes)} people without a label:\n"
        f"{escaped(table)} "
        f"({right:.0%} right; the demo knows, because it made them)\n\n"
        f"All of it on one page, with what carries the predictions; open it in a browser:\n{escaped(page)}\n\n"
        "Now with your own files:\n"
        "  gpcn inspect edges.csv --nodes nodes.csv --label COLUMN\n"
        "  gpcn compare edges.csv --nodes nodes.csv --label COLUMN --random-splits 5 --out runs\n"
        "  gpcn predict runs/MODEL --unlabelled --out predictions.csv\n"
        "  gpcn explain runs/gpcn-link --node ID\n"
        "  gpcn report runs --out report.html\n"
        "or on a benchmark (gpcn datasets lists them):\n"
        "  gpcn train chameleon --model gpcn-link",
        highlight=False,
    )
