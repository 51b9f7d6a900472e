"""`Graph`: what flows through everything, validated at birth and then left alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gpcn.core.errors import DataError
from gpcn.core.types import FloatMatrix, IntVector, SparseMatrix
from gpcn.graph import validation
from gpcn.graph.split import Split, check_splits
from gpcn.graph.validation import edges_to_adjacency
from gpcn.tasks import metric_choice
from gpcn.tasks.metrics import metric_names
from gpcn.tasks.target import Target, class_target

if TYPE_CHECKING:
    from gpcn.preparation.preparation import Preparation
    from gpcn.tasks.task import Task


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Graph:
    """An attributed graph, and what is known of its nodes.

    Args:
        adjacency: `[N, N]`; entry `(i, j)` is the weight of the edge from node `i` to node `j`. Anything SciPy
            can make a CSR of. Directed stays directed; explicit zeros are dropped; weights must be positive.
        features: `[N, q]`, a dense array or a SciPy sparse matrix; sparse stays sparse.
        labels: what is known, as the task reads it: class numbers `[N]` from 0, with -1 for unknown.
        splits: any number of `Split`s over labelled nodes.
        name: what to call the graph in tables and reports.
        metric: how predictions are judged: `accuracy`, `balanced_accuracy`, `f1`, `roc_auc`, `average_precision` or
            `log_loss`.
        node_ids: the users' own names of the nodes, unique; positions stand for names where omitted.
        label_names: the name of each class.
        feature_names: the name of each feature column.
        notes: what a reader had to decide on the way here, for people to read.
        relations: edges by type, `[N, N]` each; `adjacency` is their union. Empty where edges have one type.
        preparation: what made the features from the columns of tables, where they come from tables.
        task_name: what is asked of the nodes; `tasks.register_task` makes more than classification known.

    Attributes:
        target: the labels as the task knows them: values, where there are any, the names of the answers.
    """

    adjacency: SparseMatrix
    features: FloatMatrix | SparseMatrix
    labels: IntVector
    splits: tuple[Split, ...] = ()
    name: str = "graph"
    metric: str = "accuracy"
    node_ids: Sequence[str] | None = None
    label_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    notes: tuple[str, ...] = ()
    relations: Mapping[str, SparseMatrix] = field(default_factory=dict)
    preparation: Preparation | None = None
    task_name: str = "classification"
    target: Target = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        for names in ("node_ids", "label_names", "feature_names"):
            given = getattr(self, names)
            put(self, names, None if given is None else tuple(str(item) for item in given))
        put(self, "adjacency", validation.checked_adjacency(self.adjacency))
        put(
            self,
            "features",
            validation.checked_features(self.features, self.num_nodes, self.node_ids, self.feature_names),
        )
        put(self, "target", _read_target(self.task_name, self.labels, self.num_nodes, self.label_names))
        put(self, "labels", self.target.values)
        put(self, "splits", tuple(self.splits))
        put(self, "relations", validation.checked_relations(self.relations, self.num_nodes))
        put(self, "notes", tuple(self.notes))
        validation.check_graph_names("node_ids", self.node_ids, self.num_nodes)
        validation.check_graph_names("label_names", self.label_names, self.num_classes)
        validation.check_graph_names("feature_names", self.feature_names, self.num_features)
        check_splits(self.splits, self.target.mask)
        known = metric_names(self.task_name)
        if self.metric not in known:
            raise DataError(
                f"metric {self.metric!r} is unknown to {self.task_name}; expected one of {', '.join(known)}"
            )

    @classmethod
    def from_edges(
        cls,
        edge_index: npt.ArrayLike,
        *,
        num_nodes: int,
        weights: npt.ArrayLike | None = None,
        **fields: Any,
    ) -> Graph:
        """From `edge_index` `[2, E]`. An edge listed twice counts once, or sums its `weights` where given."""
        return cls(adjacency=edges_to_adjacency(edge_index, num_nodes, weights), **fields)

    @property
    def num_nodes(self) -> int:
        """`N`."""
        return int(self.adjacency.shape[0])

    @property
    def num_features(self) -> int:
        """`q`."""
        return int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        """`C`: how many names the classes have, else the largest label plus one."""
        return len(self.target.names)

    @property
    def positive(self) -> int | None:
        """Of two classes the rarer one, which F1, average precision and thresholds are about; `None` with more."""
        return self.target.positive

    @cached_property
    def task(self) -> Task:
        """What is asked of a node."""
        from gpcn.tasks.task import task_class  # needs PyTorch, which reading a graph does not

        return task_class(self.task_name).of(self.target.names, self.target.positive)

    @cached_property
    def directed(self) -> bool:
        """Whether some edge lacks its mirror image (of the same weight)."""
        return bool((self.adjacency != self.adjacency.T).nnz)

    @cached_property
    def num_edges(self) -> int:
        """Edges as people count them: in an undirected graph a pair counts once."""
        stored = int(self.adjacency.nnz)
        return stored if self.directed else (stored + int(np.count_nonzero(self.adjacency.diagonal()))) // 2

    @cached_property
    def weighted(self) -> bool:
        """Whether any edge has a weight other than 1."""
        return bool(np.any(self.adjacency.data != 1))

    @property
    def has_sparse_features(self) -> bool:
        """Whether the features are stored sparse."""
        return bool(sp.issparse(self.features))

    @property
    def edge_index(self) -> IntVector:
        """`[2, E]`, sources above targets."""
        entries = self.adjacency.tocoo()
        return np.stack([entries.row, entries.col]).astype(np.int64)

    @property
    def labelled(self) -> IntVector:
        """The positions of the nodes whose label is known."""
        return np.flatnonzero(self.target.mask)

    def with_metric(self, metric: str) -> Graph:
        """The same graph with another metric; a note on why the first was used is left out."""
        if metric == self.metric:
            return self
        _, outdated = metric_choice.default_metric(self.labels, self.label_names)
        return replace(self, metric=metric, notes=tuple(note for note in self.notes if note != outdated))

    def symmetrized(self) -> Graph:
        """Every edge in both directions; where both exist with different weights, the larger."""
        relations = {name: matrix.maximum(matrix.T) for name, matrix in self.relations.items()}
        return replace(self, adjacency=self.adjacency.maximum(self.adjacency.T), relations=relations)

    def with_self_loops(self) -> Graph:
        """Every node linked to itself with weight 1, where it is not yet."""
        missing = (self.adjacency.diagonal() == 0).astype(np.float32)
        return replace(self, adjacency=self.adjacency + sp.diags_array(missing, format="csr"))

    def without_self_loops(self) -> Graph:
        """No node linked to itself."""
        entries = self.adjacency.tocoo()
        keep = entries.row != entries.col
        kept = (entries.data[keep], (entries.row[keep], entries.col[keep]))
        return replace(self, adjacency=sp.csr_array(kept, shape=entries.shape))

    def with_row_normalized_features(self) -> Graph:
        """Each node's features divided by the sum of their absolute values; all-zero rows stay zero."""
        return replace(self, features=row_normalized(self.features))

    def fingerprint(self) -> str:
        """A sha256 of all that a model can see (edges, features, labels, splits), whatever it is called."""
        digest = hashlib.sha256()
        parts: list[npt.NDArray[Any]] = [self.adjacency.indptr, self.adjacency.indices, self.adjacency.data]
        if isinstance(self.features, np.ndarray):
            parts.append(self.features)
        else:
            parts += [self.features.indptr, self.features.indices, self.features.data]
        parts.append(self.labels)
        if self.task_name != "classification":
            digest.update(self.task_name.encode())
        for number, split in enumerate(self.splits):
            parts += [split.train, split.val, split.test]
            if split.calibration.size:  # named, so that splits without one keep their digest
                digest.update(f"calibration {number}".encode())
                parts.append(split.calibration)
        for name in sorted(self.relations):
            digest.update(name.encode())
            parts += [getattr(self.relations[name], part) for part in ("indptr", "indices", "data")]
        for part in parts:
            plain = np.ascontiguousarray(part.astype(np.int64) if part.dtype.kind == "i" else part)
            digest.update(f"{plain.dtype.str}{plain.shape}".encode())
            digest.update(plain.tobytes())
        return digest.hexdigest()

    def equals(self, other: Graph) -> bool:
        """The same edges, features (in the same storage), labels, splits and metric; names aside."""
        return self.metric == other.metric and self.fingerprint() == other.fingerprint()

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return (
            f"Graph({self.name!r}: {self.num_nodes:,} nodes, {self.num_edges:,} {kind} edges, "
            f"{self.num_features:,} {'sparse' if self.has_sparse_features else 'dense'} features, "
            f"{self.num_classes} classes, {len(self.splits)} splits)"
        )


def row_normalized(features: Any) -> Any:
    """Return each row divided by the sum of its absolute values; all-zero rows stay zero."""
    sums = np.asarray(abs(features).sum(axis=1), dtype=np.float64).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    if sp.issparse(features):
        return sp.csr_array(sp.diags_array(scale) @ features).astype(np.float32)
    return (features * scale[:, None]).astype(np.float32)


def _read_target(task: str, labels: object, nodes: int, names: Sequence[str] | None) -> Target:
    if task == "classification":
        return class_target(labels, nodes, names)
    from gpcn.tasks.task import task_class

    return task_class(task).read(labels, nodes, names)
