"""Messy tables, with no option but the names of columns: `gpcn compare` beside boosted trees on the same features.

    .venv/bin/python benchmarks/tables.py [--json] [--presets fraud,social] [--seeds 0,1,2] [--save]

For each preset and seed: every model of `gpcn compare` but `trees` with its defaults, and scikit-learn's
`HistGradientBoostingClassifier` on the same prepared features plus degrees and the neighbours' means of them (one step,
each direction), trained on the same splits (training nodes alone; validation nodes are not used for it). What the
metric of the graph is decides for both. Rows go to results/tables.csv as they are done; run it again to go on.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from gpcn import Columns, Graph, SplitPlan, load
from gpcn.data.presets import PRESETS, write_preset
from gpcn.nn import zoo
from gpcn.paper import rows
from gpcn.paper.evaluations import code_commit
from gpcn.runs.model_comparison import train_models

RESULTS = Path(__file__).resolve().parents[1] / "results" / "tables.csv"
COLUMNS = (
    "preset",
    "seed",
    "model",
    "metric",
    "mean",
    "std",
    "majority",
    "above_majority",
    "splits",
    "seconds",
    "commit",
)
KEY = ("preset", "seed", "model")
TREES = "trees"
MODELS = tuple(name for name in zoo.USUAL if name != TREES)  # the row is that of scikit-learn's, below
PLAN = SplitPlan(count=5, train=0.6, val=0.2)  # what gpcn compare draws where a graph has no splits
SETTLED = {
    "fraud": ("transfers.csv", "accounts.csv", Columns(source="payer", target="payee", id="account", label="fraud")),
    "social": (
        "friends.csv",
        "people.csv",
        Columns(source="from_person", target="to_person", id="person", label="group"),
    ),
    "pages": ("links.csv", "pages.csv", Columns(source="page", target="links_to", id="url", label="section")),
}


def graph_of(preset: str, seed: int) -> Graph:
    """The preset as a user reads it."""
    edges, nodes, columns = SETTLED[preset]
    with tempfile.TemporaryDirectory() as folder:
        write_preset(preset, Path(folder), seed=seed)
        return PLAN.make(load(Path(folder) / edges, nodes=Path(folder) / nodes, columns=columns))


def boosted_trees(graph: Graph) -> list[float | None]:
    """Test scores of boosted trees that see features, degrees and the neighbours' means."""
    x = sp.csr_array(graph.features).toarray() if graph.has_sparse_features else np.asarray(graph.features)
    blocks = [x]
    for matrix in (graph.adjacency, sp.csr_array(graph.adjacency.T)):
        degree = np.diff(matrix.indptr).astype(np.float64)
        mean = sp.diags_array(np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)) @ (matrix != 0) @ x
        blocks += [degree[:, None], mean]
    table = np.concatenate(blocks, axis=1)
    scores = []
    for number, split in enumerate(graph.splits):
        model = HistGradientBoostingClassifier(random_state=number)
        model.fit(table[split.train], graph.labels[split.train])
        probabilities = np.zeros((split.test.size, graph.num_classes))
        probabilities[:, model.classes_] = model.predict_proba(table[split.test])
        scores.append(graph.task.score(probabilities, graph.labels[split.test], graph.metric))
    return scores


def measure(preset: str, seed: int) -> list[dict[str, Any]]:
    """A row per model."""
    graph = graph_of(preset, seed)
    compared = train_models(graph, MODELS, {}, out=None, jobs=1)
    majority = next(row.test_mean for row in compared.models if row.model == "majority")
    same = {
        "preset": preset,
        "seed": seed,
        "metric": graph.metric,
        "splits": len(graph.splits),
        "commit": code_commit(),
    }
    table = [
        same
        | {
            "model": row.model,
            "mean": round(row.test_mean, 3),
            "std": round(float(np.std([split.test for split in row.splits])), 3),
            "seconds": round(row.seconds, 1),
            "above_majority": "yes" if row.get("beats_majority") else "",
        }
        for row in compared.models
        if row.model != "majority"
    ]
    start = time.perf_counter()
    scores = np.array(boosted_trees(graph), dtype=np.float64)
    table.append(
        same
        | {"model": TREES, "mean": round(float(scores.mean()), 3), "std": round(float(scores.std()), 3)}
        | {
            "seconds": round(time.perf_counter() - start, 1),
            "above_majority": "yes" if scores.mean() > majority else "",
        }
    )
    return [row | {"majority": round(majority, 3)} for row in table]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--presets", default=",".join(PRESETS))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--save", action="store_true", help="write results/tables.csv")
    options = parser.parse_args()
    done = {(row["preset"], row["seed"]) for row in rows.read(RESULTS, COLUMNS)} if options.save else set()
    table = []
    for preset in options.presets.split(","):
        for seed in options.seeds.split(","):
            if (preset, seed) in done:
                continue
            table += measure(preset, int(seed))
            if options.save:
                rows.write(RESULTS, COLUMNS, table, KEY)
            if not options.json:
                for row in table[-8:]:
                    print(
                        f"{preset} {seed} {row['model']}: {row['metric']} {row['mean']:.2f} ± {row['std']:.2f}",
                        flush=True,
                    )
    if options.json:
        print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
