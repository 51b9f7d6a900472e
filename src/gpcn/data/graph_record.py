"""Records of a graph that runs, studies and graphs in parts keep: what it is and where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from gpcn.data.benchmarks import catalog
from gpcn.data.object_storage import remote_url
from gpcn.data.split_plan import SplitPlan
from gpcn.data.tables.columns import Columns
from gpcn.preparation.preparation import Preparation
from gpcn.records.reading import Count, Number, Size
from gpcn.tasks.metrics import metric_names


class GraphSource(Struct, frozen=True, kw_only=True):
    """Where a graph came from, so that it can be loaded and split again.

    Args:
        graph: a dataset's name, a URL, or where the file lay.
        nodes: where the table of nodes lay.
        columns: what the columns of its tables hold.
        splits: how it was split, where it brought no splits.
        beside: the paths of the files relative to the folder that keeps this.
    """

    graph: str | None = None
    nodes: str | None = None
    columns: Columns | None = None
    splits: SplitPlan | None = None
    beside: dict[str, str] | None = None

    @classmethod
    def of(cls, graph: str | Path, nodes: str | Path | None = None, columns: Columns | None = None) -> GraphSource:
        """Return a dataset's name and a URL as they are, files by where they lie now."""
        dataset = graph if isinstance(graph, str) and graph in catalog.names() else None
        location = dataset or remote_url(graph) or str(Path(graph).resolve())
        table = None if nodes is None else str(Path(nodes).resolve())
        return cls(graph=location, nodes=table, columns=columns)

    def files(self) -> dict[str, str]:
        """Return the files by what they hold, `graph` and `nodes`."""
        return {name: file for name, file in (("graph", self.graph), ("nodes", self.nodes)) if file is not None}


class FeatureRanges(Struct, frozen=True):
    """Least, largest and mean value of every feature."""

    low: tuple[Number, ...]
    high: tuple[Number, ...]
    mean: tuple[Number, ...]


class GraphProfile(Struct, frozen=True, kw_only=True):
    """What later graphs are compared with.

    Args:
        degrees: how many nodes have 0, 1, 2-3, 4-7, ... links.
        classes: the labels of each class, or of each stratum of a target that has no classes.
        features: ranges, of graphs with few features.
    """

    degrees: tuple[Count, ...]
    classes: tuple[Count, ...]
    features: FeatureRanges | None


class GraphIdentity(Struct, frozen=True, kw_only=True):
    """Which graph something is about, and where it came from."""

    name: str
    metric: str
    fingerprint: str
    source: GraphSource | None = None

    def __post_init__(self) -> None:
        if self.metric not in metric_names():
            raise ValueError(f"metric is {self.metric!r:.40}; expected one of {', '.join(metric_names())}")


class GraphRecord(GraphIdentity, frozen=True, kw_only=True):
    """A graph as runs and graphs in parts keep it.

    Args:
        relations: the types of its links.
        names: the checksum of all its names (`graph_names_digest`).
        classes: how many columns a prediction has, of which `label_names` are the names.
        positive: of two classes the one that thresholds are about.
        task: what is asked of the nodes.
        parts: how many workers a run of it was trained on.
        order: what tells the order that nodes have in its parts from others.
        preparation: how the columns of its tables became features.
    """

    nodes: Size
    features: Count
    classes: Size
    label_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    directed: bool
    relations: tuple[str, ...]
    names: str | None = None
    positive: Annotated[int, Meta(ge=0, le=1)] | None = None
    task: str = "classification"
    parts: Size | None = None
    order: str = "kept"
    preparation: Preparation | None = None
    profile: GraphProfile | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for field, names, size in (
            ("label_names", self.label_names, self.classes),
            ("feature_names", self.feature_names, self.features),
        ):
            if names is not None and len(names) != size:
                raise ValueError(f"{field} has {len(names)} entries; expected {size}")
        if self.profile is not None:
            ranges = self.profile.features
            columns = () if ranges is None else (ranges.low, ranges.high, ranges.mean)
            strata = len(self.profile.classes)
            fits = strata == self.classes if self.task == "classification" else strata >= self.classes
            if not fits or any(len(column) != self.features for column in columns):
                raise ValueError(f"profile is not about {self.classes} classes and {self.features} features")

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes; their numbers where they have none."""
        return self.label_names or tuple(map(str, range(self.classes)))
