"""`gpcn bound`: the generalization bound of a model, term by term."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import Json, Mirror, MovedGraph, Nodes
from gpcn.cli.shared.output import console, escaped, number_text, plain_table, print_json
from gpcn.cli.shared.training_options import Seed, Settings, read_settings
from gpcn.core.errors import ConfigError
from gpcn.records import layout

if TYPE_CHECKING:
    from gpcn.nn import NodeClassifier
    from gpcn.training.problem import Problem


@dataclass(frozen=True)
class MovedOptions:
    """The place of a run's graph, if it was moved."""

    graph: MovedGraph = None
    nodes: Nodes = None
    mirror: Mirror = None


@dataclass(frozen=True)
class BoundOptions:
    """The spectrum, coefficients and constants of the bound."""

    of: Annotated[
        str, typer.Option("--spectrum", help="singular values, or eigen value moduli as the paper writes.")
    ] = "singular"
    coefficients: Annotated[
        str, typer.Option("--coefficients", help="model, binomial or printed (L γ^k, as in the paper).")
    ] = "model"
    constant: Annotated[float, typer.Option("--constant", help="C' of the printed theorems, which is unknown.")] = 1.0
    delta: Annotated[float, typer.Option("--delta", help="The bound holds with probability 1 - delta.")] = 0.05
    draws: Annotated[
        int, typer.Option("--monte-carlo", min=0, help="Draws of signs to see what the class can reach; small graphs.")
    ] = 0

    def __post_init__(self) -> None:
        if self.of not in ("singular", "eigen"):
            raise ConfigError(f"--spectrum is {self.of!r}; expected singular or eigen")
        if self.coefficients not in ("model", "binomial", "printed"):
            raise ConfigError(f"--coefficients is {self.coefficients!r}; expected model, binomial or printed")
        if self.draws == 1:
            raise ConfigError("--monte-carlo is 1; expected two draws or more, for the error comes from their spread")


@takes_option_groups
def bound(
    what: Annotated[str, typer.Argument(metavar="RUN|GRAPH", help="A folder of gpcn train, or a graph to train on.")],
    options: BoundOptions,
    moved: MovedOptions,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="For a GRAPH: gpcn, gpcn-link, agpcn or agpcn-link.")
    ] = None,
    settings: Settings = None,
    split: Annotated[int, typer.Option("--split", min=0, help="Which split.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep it here as JSON, with the density, for gpcn report.")
    ] = None,
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Compute the generalization bound of a trained model: as the paper prints it, and as its proof supports it.

    Example: [bold]gpcn bound texas --model gpcn-link --set hidden=64[/bold]
    """
    from gpcn.data.object_storage import local_copy, remote_url
    from gpcn.nn import zoo
    from gpcn.theory.document import check_document_name, write_document

    what = what if remote_url(what) is None else str(local_copy(what))
    if out is not None:
        check_document_name(out)
    if (Path(what) / layout.RUN).is_file():
        if model is not None or settings or seed is not None:
            raise ConfigError(f"{what} is a run; --model, --set and --seed are for a graph that is still to be trained")
        trained = _from_run(Path(what), split, moved)
    else:
        if moved.graph is not None or moved.nodes is not None:
            raise ConfigError(f"{what} is no run; --graph and --nodes are for a run whose graph was moved")
        trained = _from_graph(what, model or zoo.DEFAULT, read_settings(settings), seed or 0, split, moved.mirror)
    document = _document(trained, options, with_density=out is not None)
    if out is not None:
        write_document(document, out)
    if json:
        print_json(document)
    else:
        _show(document)


@dataclass(frozen=True)
class _Trained:
    """A trained model, the problem it was trained on, and its scores on the parts of a split and their sizes."""

    model: NodeClassifier
    problem: Problem
    name: str
    graph: str
    split: int
    sizes: dict[str, int]
    scores: dict[str, float | None]


def _from_run(path: Path, split: int, moved: MovedOptions) -> _Trained:
    from gpcn.distributed.assembled_run import assemble_run
    from gpcn.runs.graph_source import graph_of
    from gpcn.runs.predictions.fitted import Fitted
    from gpcn.runs.run import Run

    assemble_run(path)
    run = Run.open(path)
    (split_result,) = run.result([split]).splits or (None,)
    if split_result is None:
        raise ConfigError(f"split {split} of {path} is not finished; it has {run.finished() or 'none'}")
    graph = graph_of(run, moved.graph, moved.nodes, moved.mirror, moved=True)
    _use_threads(graph, run.config)
    fitted = Fitted.of(run, graph)
    sizes = {role: split_result.metrics[role].size for role in ("train", "test")}
    scores = {role: getattr(split_result, role) for role in ("train", "test")}
    return _Trained(fitted.model(split), fitted.problem, run.config.model, graph.name, split, sizes, scores)


def _from_graph(
    name: str, model: str, settings: dict[str, Any], seed: int, split: int, mirror: Path | None
) -> _Trained:
    from gpcn.api.prepare import prepare
    from gpcn.training.config import TrainConfig
    from gpcn.training.fit import fit
    from gpcn.training.problem import Problem
    from gpcn.training.settle import settle

    graph = prepare(name, seed=seed, mirror=mirror).graph
    if split >= len(graph.splits):
        raise ConfigError(f"there is no split {split}; {graph.name} has {len(graph.splits)}")
    config = settle(TrainConfig.of(model, seed=seed, **settings), graph)
    _use_threads(graph, config)
    problem, parts = Problem.of(graph, config), graph.splits[split]
    trainer = fit(problem, config, parts, split)
    likely = graph.task.activation(trainer.best_logits().double()).numpy()
    scores = {
        role: graph.task.score(likely[nodes], graph.target.values[nodes], graph.metric)
        for role, nodes in (("train", parts.train), ("test", parts.test))
    }
    sizes = {role: len(getattr(parts, role)) for role in ("train", "test")}
    return _Trained(trainer.model, problem, model, graph.name, split, sizes, scores)


def _use_threads(graph: Any, config: Any) -> None:
    import torch

    from gpcn.runs.split_workers import threads_per_split

    torch.set_num_threads(threads_per_split(graph, config))


def _document(trained: _Trained, options: BoundOptions, with_density: bool) -> dict[str, Any]:
    from gpcn.theory.bounds import C_0, corrected, printed, transductive
    from gpcn.theory.document import BOUND
    from gpcn.theory.quantities import measure, normalized
    from gpcn.theory.rademacher import estimate
    from gpcn.theory.spectrum import density, power_sums

    problem, model = trained.problem, trained.model
    of, coefficients = cast(Any, options.of), cast(Any, options.coefficients)
    constants = {"c_prime": options.constant, "c_0": C_0, "delta": options.delta}
    layers = getattr(model, "layers", 1)
    matrix = normalized(problem.adjacency)
    spectral_density = density(matrix, of=of) if with_density else None
    sums = power_sums(matrix, 2 * layers if isinstance(layers, int) else 2, of=of, precomputed=spectral_density)
    quantities = measure(
        model,
        problem.x,
        problem.adjacency,
        spectrum=sums,
        coefficients=coefficients,
        constant=options.constant,
        train=trained.sizes["train"],
        test=trained.sizes["test"],
    )
    reached = estimate(model, problem.x, problem.adjacency, quantities, draws=options.draws) if options.draws else None
    bounds = {bound.version: bound for bound in (printed(quantities), corrected(quantities))}
    spectrum = {"of": sums.of, "method": sums.method, "power_sums": sums.values.tolist()}
    spectrum |= {"errors": sums.errors.tolist()} | (
        {} if spectral_density is None else {"density": spectral_density.describe()}
    )
    return {
        "kind": BOUND,
        "graph": trained.graph,
        "model": trained.name,
        "split": trained.split,
        "train_score": trained.scores["train"],
        "test_score": trained.scores["test"],
        "quantities": asdict(quantities),
        "spectrum": spectrum,
        "constants": constants | {"Q": quantities.q, "p": quantities.p},
        "monte_carlo": None if reached is None else asdict(reached),
        "bounds": {
            name: bound.describe() | {"transductive": transductive(bound, quantities, delta=options.delta).describe()}
            for name, bound in bounds.items()
        },
    }


def _show(document: dict[str, Any]) -> None:
    to = console()
    first, second = (document["bounds"][name] for name in ("printed", "corrected"))
    rows = plain_table("term", "as printed", "as the proof supports", numeric=("as printed", "as the proof supports"))
    for name in dict.fromkeys([*first["terms"], *second["terms"]]):
        cells = [f"{version['terms'][name]:,.4g}" if name in version["terms"] else "" for version in (first, second)]
        rows.add_row(name, *cells)
    rows.add_row("total, complexity / Q", *(f"{version['total']:,.4g}" for version in (first, second)))
    reached = document["monte_carlo"]
    if reached is not None:
        rows.add_row("reached by random signs", *[f"{reached['mean']:,.4g} ± {reached['error']:.2g}"] * 2)
    rows.add_row("largest", *(version["dominant"] for version in (first, second)))
    rows.add_row(
        "test error ≤ train error +", *(f"{version['transductive']['gap']:,.4g}" for version in (first, second))
    )
    to.print(
        f"{escaped(document['model'])} on {escaped(document['graph'])}, split {document['split']}",
        highlight=False,
    )
    to.print(rows, highlight=False)
    constants = document["constants"]
    to.print(
        f"with probability {1 - constants['delta']:g}; C' = {constants['c_prime']:g} is assumed, for the paper gives "
        f"no value; {document['spectrum']['of']} values, {document['spectrum']['method']}",
        highlight=False,
    )
    train, test = document["train_score"], document["test_score"]
    gap = None if train is None or test is None else train - test
    to.print(
        f"measured: train {number_text(train, 2)}, test {number_text(test, 2)}, gap {number_text(gap, 2)} points",
        highlight=False,
    )
    if gap is None:
        to.print("[dim]note: a part of the split holds one class alone, so its score is undefined[/dim]")
