"""`gpcn spectrum`: the spectrum of a graph's normalized adjacency, which the bounds grow with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.cli.shared.options import Json, Mirror
from gpcn.cli.shared.output import console, escaped, plain_table, print_json
from gpcn.core.errors import ConfigError


def spectrum(
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="A dataset, or a file that gpcn convert wrote.")],
    powers: Annotated[int, typer.Option("--powers", min=1, max=200, help="The highest power k.")] = 8,
    of: Annotated[str, typer.Option("--of", help="singular values, or eigen value moduli.")] = "singular",
    method: Annotated[
        str, typer.Option("--method", help="exact (LAPACK), lanczos (an estimate for large graphs), or auto by size.")
    ] = "auto",
    probes: Annotated[int, typer.Option("--probes", min=2, help="Random vectors of lanczos.")] = 16,
    direction: Annotated[
        str, typer.Option("--direction", metavar="out|in|both", help="Which links a node reads: out, in, or both.")
    ] = "out",
    figure: Annotated[Path | None, typer.Option("--figure", help="Draw the density here, as SVG.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep it here as JSON, with the density, for gpcn report.")
    ] = None,
    mirror: Mirror = None,
    json: Json = False,
) -> None:
    """Compute Σ|λ|^k of the normalized adjacency for k = 1..POWERS, and draw where its spectrum lies.

    Example: [bold]gpcn spectrum chameleon --powers 8 --figure chameleon.svg[/bold]
    """
    from gpcn.data.load import load
    from gpcn.nn import Adjacency
    from gpcn.nn.engine.adjacency import check_direction
    from gpcn.theory import spectrum as theory
    from gpcn.theory.document import SPECTRUM, check_document_name, write_document
    from gpcn.theory.quantities import normalized

    if of not in ("singular", "eigen"):
        raise ConfigError(f"--of is {of!r}; expected singular or eigen")
    if out is not None:
        check_document_name(out)
    kind: Any = of
    how: dict[str, Any] = {"method": method, "probes": probes}
    loaded = load(graph, mirror=mirror, require_labels=False)
    matrix = normalized(Adjacency(loaded.adjacency, direction=check_direction(direction)))
    density = theory.density(matrix, of=kind, **how) if figure is not None or out is not None else None
    sums = theory.power_sums(matrix, powers, of=kind, precomputed=density, **how)
    if density is not None and figure is not None:
        theory.draw(density, loaded.name, figure, of=kind)
    document = {
        "kind": SPECTRUM,
        "graph": loaded.name,
        "nodes": loaded.num_nodes,
        "direction": direction,
        "symmetric": theory.is_symmetric(matrix),
        "of": sums.of,
        "method": sums.method,
        "power_sums": sums.values.tolist(),
        "errors": sums.errors.tolist(),
        "figure": None if figure is None else str(figure),
    }
    if density is not None and out is not None:
        write_document(document | {"density": density.describe()}, out)
    if json:
        print_json(document)
    else:
        _show(document)


def _show(document: dict[str, Any]) -> None:
    to = console()
    what = "singular values" if document["of"] == "singular" else "eigenvalue moduli"
    to.print(
        f"{escaped(document['graph'])}, {document['nodes']:,} nodes: sums of powers of {what} of Ā",
        highlight=False,
    )
    rows = plain_table("k", "Σ|λ|^k", "within", numeric=("k", "Σ|λ|^k", "within"))
    for k, (value, error) in enumerate(zip(document["power_sums"], document["errors"], strict=True)):
        if k:
            rows.add_row(str(k), f"{value:,.6g}", f"± {error:.2g}" if error else "exact")
    to.print(rows, highlight=False)
    to.print(document["method"] + (f"; density in {escaped(document['figure'])}" if document["figure"] else ""))
