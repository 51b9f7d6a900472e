"""`RunFolder`: a folder of gpcn as an object that predicts, explains, evaluates and reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpcn import explanation
from gpcn.api.contents import Contents, Kind, read_folder_contents, require_folder_models
from gpcn.api.scores import folder_scores_on_split
from gpcn.core.errors import ConfigError, Option
from gpcn.data.object_storage import local_copy
from gpcn.explanation import ClassExplanation, Explanation, explain_average, explain_class
from gpcn.graph import Graph
from gpcn.records.reading import encode
from gpcn.runs.folders import with_resolved_paths
from gpcn.runs.graph_source import graph_of, graph_of_frames, reload_graph
from gpcn.runs.predictions import prediction
from gpcn.runs.predictions import threshold as thresholds
from gpcn.runs.predictions.drift import measure_drift
from gpcn.runs.predictions.out_of_fold import predict_out_of_fold
from gpcn.runs.predictions.prediction import Predictions
from gpcn.runs.run import Run
from gpcn.runs.training import train
from gpcn.search import require_search

if TYPE_CHECKING:
    from gpcn.search.ledger import Ledger

NO_PROFILE = "drift cannot be measured: the run kept no profile of its graph, which was cut into parts table by table"


def open_run(
    path: str | Path,
    *,
    graph: Graph | str | Path | None = None,
    nodes: str | Path | None = None,
    mirror: str | Path | None = None,
) -> RunFolder:
    """What `gpcn train`, `compare`, `tune` or `auto` left in the folder `path`.

    Args:
        path: the folder; of one in an object store, such as `s3://bucket/runs/large`, a copy is kept in the cache.
        graph: the graph it was trained on, or where that lies now, if it is not where it was, or neither below nor
            beside the folder: anybody may have written that, so what it names elsewhere is not opened unasked.
        nodes: the table of nodes that goes with it.
        mirror: a folder with the raw files of the benchmark datasets.
    """
    return RunFolder(path, graph=graph, nodes=nodes, mirror=mirror)


class RunFolder:
    """A run, a comparison, a study or what `auto` chose.

    A comparison predicts by the model that is best on validation nodes, and `folder["gcn"]` is one of its models. What
    `auto` chose predicts by the average of its members. A study has scores and no models: `train_best` makes one.

    Args:
        path: the folder; of one in an object store, such as `s3://bucket/runs/large`, a copy is kept in the cache.
        graph: the graph it was trained on, or where that lies now, if it is not where it was, or neither below nor
            beside the folder: anybody may have written that, so what it names elsewhere is not opened unasked.
        nodes: the table of nodes that goes with it.
        mirror: a folder with the raw files of the benchmark datasets.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        graph: Graph | str | Path | None = None,
        nodes: str | Path | None = None,
        mirror: str | Path | None = None,
    ) -> None:
        self.path = local_copy(path)
        self._contents: Contents = read_folder_contents(self.path)
        self._mirror = None if mirror is None else Path(mirror)
        self._given, self._given_nodes = graph, None if nodes is None else Path(nodes)
        self._parent: RunFolder | None = None

    @property
    def kind(self) -> Kind:
        """`run`, `comparison`, `study` or `auto`."""
        return self._contents.kind

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that predict; one that is there twice counts twice."""
        return self._contents.predicting

    @property
    def models(self) -> tuple[str, ...]:
        """The models of a comparison, best first; the distinct models of any other folder."""
        if self._contents.comparison is not None:
            return tuple(row.model for row in self._contents.comparison.table.models if not row.reference)
        if self.kind == "study":
            return tuple(self._study.space.models)
        return tuple(dict.fromkeys(run.config.model for run in self.runs))

    def __getitem__(self, model: str) -> RunFolder:
        """One model of a comparison."""
        comparison = self._contents.comparison
        if comparison is None or model not in comparison.runs:
            listed = "no models to choose from" if comparison is None else f"the models {', '.join(self.models)}"
            raise ConfigError(f"{self.path} has no model {model!r}; it has {listed}")
        child = RunFolder(comparison.runs[model].path, graph=self._given, nodes=self._given_nodes, mirror=self._mirror)
        child._parent = self  # which may own a temporary folder
        return child

    def graph(self) -> Graph:
        """The graph it was trained on, as it is now."""
        return self._graph

    def graph_to_predict(self, graph: Any = None, nodes: Any = None, unknown: str | None = None) -> Graph:
        """What `predict` reads for these arguments; without any, the graph trained on."""
        require_folder_models(self._contents, self.path)
        if graph is None and nodes is None:
            return self._graph if unknown is None else self._reloaded(unknown)
        if isinstance(graph, Graph):
            return graph
        if graph is None or isinstance(graph, (str, Path)):
            path = None if graph is None else str(graph)
            return graph_of(self.runs[0], path, nodes, self._mirror, unknown=unknown)
        return graph_of_frames(self.runs[0], graph, nodes, unknown=unknown)

    def predict(
        self,
        graph: Any = None,
        nodes: Any = None,
        *,
        splits: Sequence[int] | None = None,
        unlabelled: bool = False,
        out_of_fold: bool = False,
        threshold: str | float | None = None,
        only: str | None = None,
        unknown: str | None = None,
        log: Callable[[str], None] | None = None,
    ) -> Predictions:
        """Probabilities of every node, averaged over splits and members.

        Args:
            graph: a changed graph: a `Graph`, a path, or a data frame of edges; tables are read and encoded as those
                trained on were, and need no labels. By default the graph trained on.
            nodes: the table of nodes that goes with a table of edges, a path or a data frame.
            splits: whose models (default: all that are finished).
            unlabelled: only nodes without a label.
            out_of_fold: each labelled node by the models for which it was a test node.
            threshold: for two classes: a probability, `f1` or `top=100`.
            only: `new`: only nodes that were not there in training.
            unknown: what happens to edges whose ends are not in the table of nodes: `drop` or `add`; by default as in
                training.
            log: called with one line per step.
        """
        require_folder_models(self._contents, self.path)
        judged, chosen = self._contents.judged, None if splits is None else list(splits)
        rule = None if threshold is None else thresholds.read_threshold(str(threshold))
        if rule is not None:
            thresholds.check_two_classes(judged[0])
        if only not in (None, "new"):
            raise ConfigError(f"{Option('only')} is {only!r}; expected new: the nodes that were not there in training")
        if out_of_fold and (graph is not None or unlabelled):
            raise ConfigError(
                f"{Option('out_of_fold')} is for the labelled nodes trained on; leave GRAPH and {Option('unlabelled')} "
                "out"
            )
        if out_of_fold and only is not None:
            raise ConfigError(
                f"{Option('only')} is for changed graphs, and {Option('out_of_fold')} for the one trained on; leave "
                "one out"
            )
        log = log or (lambda text: None)
        log(f"opened {self.path}: {self.kind} of {', '.join(self.models)}")
        loaded = self.graph_to_predict(graph, nodes, unknown)
        log(f"read {loaded.name}: {loaded.num_nodes:,} nodes, {loaded.num_edges:,} edges")
        if out_of_fold:
            predictions = predict_out_of_fold(judged, loaded, splits=chosen)
        else:
            predictions = prediction.vote(
                self.runs, loaded, splits=chosen, only_unlabelled=unlabelled, only_new=only == "new"
            )
            if graph is not None:
                predictions = self._with_drift(predictions, loaded, chosen)
        if rule is not None:
            trained_on = loaded if graph is None or rule.kind != "f1" else self._graph
            validation = thresholds.validation_nodes(judged, trained_on, chosen) if rule.kind == "f1" else ()
            predictions, decision = thresholds.decide(predictions, rule, validation)
            predictions = replace(predictions, decision=decision)
        read = () if graph is None or isinstance(graph, Graph) else loaded.notes
        return replace(predictions, notes=(*self._contents.notes, *read, *predictions.notes))

    def explain(
        self, node: str | int, graph: Any = None, nodes: Any = None, *, split: int | None = None, top: int = 5
    ) -> Explanation:
        """Why `node` is predicted as it is, exactly: hops, links, features (`explanation.explain`).

        `graph` and `nodes` are as for `predict`, `split` says whose model, `top` how many neighbours and features.
        """
        self.check_explains(split)
        loaded = self.graph_to_predict(graph, nodes)
        if self.kind == "auto":
            return replace(explain_average(self.runs, loaded, str(node), split=split, top=top), run=str(self.path))
        return explanation.explain(self.runs[0], loaded, str(node), split=split, top=top)

    def explain_class(
        self, label: str, graph: Any = None, nodes: Any = None, *, split: int | None = None, top: int = 5
    ) -> ClassExplanation:
        """What carries the class `label` overall, and its most typical nodes (`explanation.explain_class`)."""
        self.check_explains(split)
        loaded = self.graph_to_predict(graph, nodes)
        account = explain_class(self.runs, loaded, label, split=split, top=top)
        model = "auto" if self.kind == "auto" else account.model
        return replace(account, model=model, run=str(self.path))

    def check_explains(self, split: int | None = None) -> None:
        """Refuse a model that cannot be taken apart, and a split that is not there, before a graph is read."""
        require_folder_models(self._contents, self.path)
        if self.kind != "auto":
            explanation.explained_split(self.runs[0], split)

    def evaluate(self, split: int | None = None) -> Any:
        """Scores: without a `split` the summary over splits, of a comparison its table, of a study its best.

        With one, all measures (`tasks.classification.Classification.evaluate`) of its `train`, `val` and `test` nodes.
        """
        if split is None:
            return self._summary()
        require_folder_models(self._contents, self.path)
        return folder_scores_on_split(self._contents.judged, split, self.graph, self.path)

    def report(self, path: str | Path, edges: str | Path | None = None, nodes: Path | None = None) -> dict[str, Any]:
        """Write one HTML page about it to `path`, as `gpcn report`; with files of new tables, on how they drifted."""
        from gpcn.api.report_page import write_report_page

        moved = str(self._given) if edges is None and isinstance(self._given, (str, Path)) else None
        new, table = None if edges is None else str(edges), nodes or (None if edges else self._given_nodes)
        return write_report_page([self.path], path, edges=new, nodes=table, graph=moved, mirror=self._mirror)

    def export(self, out: str | Path, graph: Any = None, nodes: Any = None) -> dict[str, Any]:
        """Write it as a program of PyTorch that needs nothing of gpcn to the folder `out` (`api.export`)."""
        from gpcn.api.export import export_folder

        return export_folder(self, out, graph, nodes)

    def train_best(self, out: str | Path, *, splits: Sequence[int] | None = None, jobs: int | None = 1) -> RunFolder:
        """The best configuration of a study, by its validation score, trained and kept in `out`."""
        if self.kind != "study":
            raise ConfigError(f"{self.path} holds models already; train_best is for a study")
        study = self._study  # first: it says which library is missing
        from gpcn.search.study import best

        ranking = best(study)
        if not ranking:
            raise ConfigError(
                f"no configuration of {self.path} was scored yet; go on with {Option('resume', command='tune')}"
            )
        trial, _, rule = ranking[0]
        source = study.graph.source and with_resolved_paths(study.graph.source, self.path)
        train(self._graph, trial.config.with_epoch_rule(rule), out=out, splits=splits, jobs=jobs, source=source)
        return RunFolder(out, graph=self._given, nodes=self._given_nodes, mirror=self._mirror)

    def __repr__(self) -> str:
        summary = encode(self._summary())
        name, metric = summary["graph"], summary["metric"]
        if self.kind == "study":
            return f"RunFolder({str(self.path)!r}: study of {summary['configurations']} configurations on {name})"
        if self._contents.comparison is not None:
            listed = ", ".join(self.models)
            return f"RunFolder({str(self.path)!r}: comparison on {name} by {metric}, best first: {listed})"
        what = "auto, " * (self.kind == "auto") + " + ".join(self.models)
        mean, spread = summary["test_mean"], summary["test_std"]
        score = "no score" if mean is None else f"{mean:.2f}" + ("" if spread is None else f" ± {spread:.2f}")
        return f"RunFolder({str(self.path)!r}: {what} on {name}, {metric} {score} on test nodes)"

    def _summary(self) -> Any:
        if self.kind == "study":
            study = self._study
            from gpcn.search.summary import describe_study

            return describe_study(study)
        if self._contents.comparison is not None:
            return self._contents.comparison.table
        return self._contents.choice or self._contents.judged[0].result()

    def _with_drift(self, predictions: Predictions, graph: Graph, splits: list[int] | None) -> Predictions:
        """The same with how far `graph` is from the one trained on, where the run kept enough to tell."""
        judged = self._contents.judged
        profile = judged[0].graph.profile
        if profile is None:
            return replace(predictions, notes=(*predictions.notes, NO_PROFILE))
        drift, notes = measure_drift(judged, graph, predictions.probabilities, profile, splits)
        return replace(predictions, drift=drift, notes=(*predictions.notes, *notes))

    @cached_property
    def _study(self) -> Ledger:
        require_search(f"the study in {self.path}")
        from gpcn.search.ledger import Ledger

        return Ledger.read(self.path)

    @cached_property
    def _graph(self) -> Graph:
        return self._given if isinstance(self._given, Graph) else self._reloaded()

    def _reloaded(self, unknown: str | None = None) -> Graph:
        """The graph trained on, from where it is said to lie now, or else from where it was."""
        named = (str(self._given) if isinstance(self._given, (str, Path)) else None, self._given_nodes, self._mirror)
        if self.kind != "study":
            return graph_of(self._contents.judged[0], *named, unknown=unknown, moved=True)
        return reload_graph(self._study.graph, self.path, *named, moved=True)
