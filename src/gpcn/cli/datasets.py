"""`gpcn datasets`: the benchmark datasets and which of them are at hand."""

from __future__ import annotations

from gpcn.cli.shared.options import Json, Mirror
from gpcn.cli.shared.output import console, plain_table, print_json
from gpcn.data.benchmarks import catalog
from gpcn.data.benchmarks.loading import is_available


def datasets(json: Json = False, mirror: Mirror = None) -> None:
    """List the benchmark datasets.

    Example: [bold]gpcn datasets --json | jq '.[] | select(.available) | .name'[/bold]
    """
    rows = [
        {
            "name": entry.name,
            "nodes": entry.nodes,
            "edges": entry.edges,
            "features": entry.features,
            "classes": entry.classes,
            "splits": entry.splits,
            "metric": entry.metric,
            "available": is_available(entry, mirror),
            "downloadable": all(file.verifiable for file in entry.remote_files),
            "directed": entry.directed,
            "official_splits": not entry.random_splits,
            "citation": entry.citation,
            "licence": entry.licence,
            "note": entry.note,
        }
        for entry in map(catalog.entry, catalog.names())
    ]
    if json:
        print_json(rows)
        return
    numeric = ("nodes", "edges", "features", "classes", "splits")
    shown = plain_table("name", *numeric, "metric", "available", numeric=numeric)
    for row in rows:
        where = "yes" if row["available"] else "by download" if row["downloadable"] else "by hand"
        shown.add_row(str(row["name"]), *(f"{row[key]:,}" for key in numeric), str(row["metric"]), where)
    console().print(shown)
