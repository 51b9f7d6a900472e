"""The portfolio of `auto` from evaluations on many graphs, also with one graph left out.

    .venv/bin/python benchmarks/portfolio.py evaluate [--datasets texas,cora] [--seconds 8] [--no-neighbours]
    .venv/bin/python benchmarks/portfolio.py build [--without texas] --out portfolio.json

`evaluate` trains every entry of the pool (the portfolio at hand, and a neighbour of each) on the first split of every
graph for a limited time, and writes the crossed validation score to results/portfolio.csv (or to `--table`, for
evaluations side by side: one process per file); test nodes are not looked at. It resumes, so that neighbours, which
`--no-neighbours` leaves out, can be added later; an entry that was not evaluated on a graph counts as the worst there.

`build` orders entries greedily: the next one is whose best score over graphs, seen so far or its own, comes closest to
the best of the whole pool, for the time it takes; then come models that are not there yet. `--without` ignores what was
measured on a graph and on its kin (the filtered chameleon is the chameleon with fewer nodes), so that `auto` can be
measured there with a portfolio that has not seen it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.tables import SETTLED, graph_of
from gpcn import Graph, load
from gpcn.core.errors import ConfigError
from gpcn.exec.executor import Running, thread_count
from gpcn.paper import rows
from gpcn.paper.evaluations import code_commit
from gpcn.search.auto.candidates import Candidate, Store
from gpcn.search.auto.config_neighbours import neighbouring_config
from gpcn.search.auto.evaluation import Evaluation
from gpcn.search.auto.holdouts import holdout_of_split
from gpcn.search.auto.portfolio import EPOCHS, Entry, default_portfolio, portfolio_text
from gpcn.search.tasks import Evaluator
from gpcn.tasks.metrics import oriented_score

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "portfolio.csv"
COLUMNS = ("dataset", "title", "model", "settings", "directed", "metric", "score", "epochs", "seconds", "commit")
KEY = ("dataset", "title")
DATASETS = (
    "texas,wisconsin,cornell,chameleon,squirrel,film,cora,citeseer,pubmed,twitch-de,deezer-europe,chameleon-filtered,"
    "squirrel-filtered,minesweeper,tolokers,reed98,fraud,social,pages"
)
FIRST = ("majority", "label-propagation", "logistic", "link")  # cheap, and what a reader wants to see first
SIZE = 40  # entries of a portfolio
PATIENCE_FOR_TIME = 0.3  # how much an entry that takes longer has to be better


def graph_called(name: str) -> Graph:
    """A dataset of the catalog, or a preset with seed 0."""
    return graph_of(name, 0) if name in SETTLED else load(name)


def pool(seed: int = 0, *, neighbours: bool = True) -> list[Entry]:
    """The portfolio at hand, and for each entry one near it."""
    if not neighbours:
        return list(default_portfolio())
    graph = graph_of("social", seed)  # any graph will do: entries are about settings
    entries = list(default_portfolio())
    tried = {entry.config(graph, 0).canonical() for entry in entries}
    for number, entry in enumerate(default_portfolio()):
        config = neighbouring_config(graph, entry.config(graph, 0), tried, np.random.default_rng([seed, number]))
        if config is None or entry.title == "majority":
            continue
        tried.add(config.canonical())
        before = entry.config(graph, 0)
        both = {**config.hyperparameters, **config.training}
        changed = {name: value for name, value in both.items() if value != before[name]}
        words = ", ".join(f"{name} {value}" for name, value in changed.items())
        entries.append(Entry(f"{entry.title}; {words}", entry.model, {**entry.settings, **changed}, entry.directed))
    return entries


def evaluate(dataset: str, entries: Sequence[Entry], seconds: float, table: Path) -> None:
    """Everything that is missing of one graph."""
    evaluated = {row["title"] for row in rows.read(table, COLUMNS) if row["dataset"] == dataset}
    missing = [entry for entry in entries if entry.title not in evaluated]
    if not missing:
        return
    graph = graph_called(dataset)
    evaluator, holdout = Evaluator(graph), holdout_of_split(graph, 0)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), "portfolio")
        for number, entry in enumerate(entry for entry in missing if entry.fits(graph)):
            candidate = Candidate(number, entry.config(graph, 0), entry.title, "pool")
            store.add(candidate)
            task = Evaluation(number, candidate.config, holdout, 0, EPOCHS, seconds, math.inf, store)
            start = time.monotonic()
            with thread_count(task.threads):
                outcome = evaluator(task, Running())
            row: dict[str, Any] = {
                **entry.to_json(),
                "dataset": dataset,
                "metric": graph.metric,
                "commit": code_commit(),
            }
            row |= {"settings": json.dumps(entry.settings), "directed": int(entry.directed)}
            row |= {"seconds": round(time.monotonic() - start, 2), "epochs": outcome.get("epochs", 0)}
            if "epochs" in outcome:
                candidate.judgements[holdout.name] = store.judgement(number, holdout.name)
                best = candidate.best(graph, (holdout,))
                sign = 1 if oriented_score(graph.metric, 1.0) > 0 else -1
                row["score"] = None if best is None else round(sign * best[0], 4)
            rows.write(table, COLUMNS, [row], KEY)
            print(dataset, entry.title, row.get("score"), f"{row['seconds']} s", flush=True)
            store.forget_states(set())


def kin(dataset: str) -> str:
    """A name that a graph shares with those made of it."""
    return dataset.removesuffix("-filtered")


def build(table: Sequence[dict[str, Any]], without: str | None = None, size: int = SIZE) -> list[Entry]:
    """Entries in the order in which they are tried, from what was measured on all graphs but one."""
    left_out = None if without is None else kin(without)
    used = [row for row in table if kin(row["dataset"]) != left_out and row["score"]]
    if not used:
        raise ConfigError("there are no evaluations to build a portfolio from; run: benchmarks/portfolio.py evaluate")
    graphs, titles = sorted({row["dataset"] for row in used}), list(dict.fromkeys(row["title"] for row in used))
    gains = np.full((len(titles), len(graphs)), np.nan)
    seconds = np.zeros(len(titles))
    entries: dict[str, Entry] = {}
    for row in used:
        index = titles.index(row["title"])
        gains[index, graphs.index(row["dataset"])] = oriented_score(row["metric"], float(row["score"]))
        seconds[index] = max(seconds[index], float(row["seconds"]))
        directed = row["directed"] not in ("", "0", "False")
        entries[row["title"]] = Entry(row["title"], row["model"], json.loads(row["settings"]), directed)
    best, worst = np.nanmax(gains, axis=0), np.nanmin(gains, axis=0)
    regret = np.where(np.isnan(gains), 1.0, (best - gains) / np.maximum(best - worst, 1e-9))
    order = [titles.index(title) for title in FIRST if title in titles]
    reached = np.min(regret[order], axis=0) if order else np.ones(len(graphs))
    while len(order) < min(size, len(titles)):
        untried = [index for index in range(len(titles)) if index not in order]
        gained = [(reached - np.minimum(reached, regret[index])).sum() for index in untried]
        value = [
            worth / (1 + seconds[index]) ** PATIENCE_FOR_TIME for worth, index in zip(gained, untried, strict=True)
        ]
        if max(gained) > 0:
            chosen = untried[int(np.argmax(value))]
        else:  # nothing is better anywhere: models that are not there yet, then what is good on average
            present = {entries[titles[index]].model for index in order}
            chosen = min(untried, key=lambda index: (entries[titles[index]].model in present, regret[index].mean()))
        order.append(chosen)
        reached = np.minimum(reached, regret[chosen])
    return [entries[titles[index]] for index in order]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    evaluating = commands.add_parser("evaluate")
    evaluating.add_argument("--datasets", default=DATASETS)
    evaluating.add_argument("--seconds", type=float, default=8.0)
    evaluating.add_argument("--no-neighbours", action="store_true")
    evaluating.add_argument("--table", type=Path, default=RESULTS)
    building = commands.add_parser("build")
    building.add_argument("--without", default=None)
    building.add_argument("--size", type=int, default=SIZE)
    building.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.command == "evaluate":
        entries = pool(neighbours=not options.no_neighbours)
        for dataset in options.datasets.split(","):
            evaluate(dataset, entries, options.seconds, options.table)
        return
    chosen = build(rows.read(RESULTS, COLUMNS), options.without, options.size)
    options.out.write_text(portfolio_text(chosen))
    print(f"{len(chosen)} entries → {options.out}")


if __name__ == "__main__":
    main()
