"""`gpcn shard`: a graph cut into parts on disk, one for each worker that will train on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import GraphArgument, Json
from gpcn.cli.shared.output import console, escaped, print_json, print_notes
from gpcn.cli.shared.progress import parts_progress
from gpcn.cli.shared.step_log import LogFormat, step_log
from gpcn.cli.shared.training_options import TrainingGraph
from gpcn.core.errors import ConfigError

STREAMED = "4GB"


@takes_option_groups
def shard(
    graph: GraphArgument,
    described: TrainingGraph,
    parts: Annotated[int, typer.Option("--parts", "-p", min=1, help="How many workers will train on it.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the parts, also a URL such as s3://bucket/parts.")
    ],
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar=STREAMED,
            help="Tables larger than memory: read, join and sort them with so much of it, on disk.",
        ),
    ] = None,
    order: Annotated[
        str,
        typer.Option("--order", metavar="kept|metis", help="metis: parts with few links between them (pymetis)."),
    ] = "kept",
    log_format: LogFormat = None,
    json: Json = False,
) -> None:
    """Cut a graph into parts on disk, for training on a cluster.

    The same command again writes what is missing. A pattern such as 'edges/*.parquet' names many files, which are never
    all in memory.

    Example: [bold]gpcn shard 'edges/*.parquet' --nodes 'nodes/*.parquet' --parts 16 --memory 4GB --out parts[/bold]
    """
    from gpcn.data.object_storage import remote_url

    notes: list[str] = []
    orders: list[Any] = []
    log = step_log(log_format, quiet=log_format is None)
    where = remote_url(out) or str(out)
    with parts_progress() as progress:
        if memory is not None or _is_pattern(graph) or _is_pattern(str(described.reading.nodes or "")):
            if order != "kept":
                raise ConfigError("--order metis needs all links in memory; leave it out, or --memory and patterns")
            limit = memory or STREAMED
            manifest = _stream(graph, described, parts, where, limit, progress, log, notes.append)
        else:
            from gpcn.distributed.sharding.shards import shard as write

            prepared = described.prepare(graph, quiet=True)
            loaded = prepared.graph
            manifest = write(
                loaded,
                where,
                parts,
                source=prepared.source,
                progress=progress,
                order=order,
                report_order=orders.append,
                log=log,
            )
            notes += dict.fromkeys((*loaded.notes, *prepared.notes))
    sizes = {"nodes": manifest.graph.nodes, "links": manifest.links, "splits": manifest.splits}
    shares = {"crossing": orders[0].crossing, "crossing_kept": orders[0].crossing_kept} if orders else {}
    if json:
        print_json({**shares, "out": where, "name": manifest.graph.name, "parts": manifest.parts, **sizes})
        return
    print_notes(notes)
    console().print(
        f"{escaped(manifest.graph.name)}: {sizes['nodes']:,} nodes and {sizes['links']:,} links in {manifest.parts} "
        f"part(s) → {escaped(where)}; train: gpcn train {escaped(where)} --engine ray --workers {manifest.parts}",
        highlight=False,
    )
    if orders and manifest.parts > 1:
        changed = f"{shares['crossing_kept']:.1%} in the order kept, {shares['crossing']:.1%} in this one"
        crossing = f"{shares['crossing']:.1%}" if order == "kept" else changed
        console().print(f"links between parts: {crossing}", highlight=False)


def _is_pattern(path: str) -> bool:
    return any(sign in path for sign in "*?[") and not Path(path).exists()


def _stream(
    graph: str,
    described: TrainingGraph,
    parts: int,
    out: str,
    memory: str,
    progress: Any,
    log: Any,
    note: Any,
) -> Any:
    from gpcn.data.load import find_pair
    from gpcn.distributed.sharding.joined_tables import Tables
    from gpcn.distributed.sharding.table_database import matching_files
    from gpcn.distributed.sharding.table_shards import shard_tables

    options = described.reading
    if described.splitting.plan(0) is not None:
        raise ConfigError(
            "random splits are not drawn while tables are streamed; add a column that says train, val or test"
        )
    if Path(graph).is_dir():
        edges, nodes = find_pair(Path(graph))
        edge_pattern, node_pattern = str(edges), str(options.nodes or nodes or "")
    else:
        edge_pattern, node_pattern = graph, str(described.reading.nodes or "")
    if not node_pattern:
        raise ConfigError("tables are streamed with a table of nodes; name it with --nodes, or leave --memory out")
    columns = options.columns()
    name = Path(graph).resolve().name.split(".")[0].replace("*", "") or Path(graph).resolve().parent.name
    tables = Tables(matching_files(edge_pattern, "edges"), matching_files(node_pattern, "nodes"), columns, name)
    return shard_tables(
        tables,
        out,
        parts,
        memory=memory,
        source=options.origin(graph),
        metric=described.metric,
        progress=progress,
        log=log,
        note=note,
    )
