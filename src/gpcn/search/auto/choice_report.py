"""What `auto` says about itself: what it plans, what it tried, what it chose and why, and what is wrong with that."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import asdict

from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.runs.records import ConfigRecord
from gpcn.runs.run import Run
from gpcn.search.auto.candidates import Candidate
from gpcn.search.auto.choice_record import AverageScores, ExpectedRange, FinishedChoice, TriedCandidate
from gpcn.search.auto.ensemble import Selection
from gpcn.search.auto.expected_score import ExpectedScore
from gpcn.search.auto.holdouts import Holdout, Stage
from gpcn.search.auto.portfolio import EPOCHS
from gpcn.search.auto.search import Search
from gpcn.tasks.metrics import find_metric, oriented_score

BOTH = "features and neighbours"
LATE = 1.1  # of the budget: from when on it is said that it was not kept, and why
STILL_IMPROVING = 0.9  # of the epochs so far: a best epoch after that says that more would help


@dataclass(frozen=True)
class Member:
    """A candidate under a rule, and how often it counts."""

    candidate: Candidate
    rule: str
    count: int


def describe_auto_plan(graph: Graph, stages: Sequence[Stage], search: Search, seconds: float) -> list[str]:
    """What is about to happen."""
    holdouts = stages[-1].holdouts
    if holdouts[0].outer is None:
        how = f"cross-validation inside {holdouts[0].nodes.size:,} training and validation nodes (they are few)"
    elif len(holdouts) == 1:
        how = f"the {holdouts[0].nodes.size:,} validation nodes of split {holdouts[0].outer}"
    else:
        how = f"the validation nodes of {len(holdouts)} splits"
    texts = [
        f"auto on {graph.name}: {graph.num_nodes:,} nodes, {graph.num_features:,} features, {seconds:.0f} s; judged by "
        f"{how}, {graph.metric}"
    ]
    if search.candidates:
        texts.append(f"going on: {len(search.candidates)} configuration(s) were tried before")
    return texts


def describe_auto_choice(
    graph: Graph,
    search: Search,
    judged: Sequence[Holdout],
    chosen: Sequence[Member],
    selection: Selection,
    expected: ExpectedScore,
    *,
    scores: AverageScores,
    runs: Sequence[Run],
    budget: float,
) -> FinishedChoice:
    """Return what was chosen, out of what, and why; `runs` are the members, and `scores` those of their average."""
    tried = tried_candidate_rows(graph, search, judged)
    counts: Counter[str] = Counter()
    for member in chosen:  # one candidate may be there twice, at the epochs that loss and metric choose
        counts[member.candidate.title] += member.count
    parts = [f"{title} ({count} of {counts.total()})" for title, count in counts.most_common()]
    text = f"the average of {', '.join(parts)}"
    if len(counts) == 1:
        text = f"{chosen[0].candidate.title} {'alone' if len(chosen) == 1 else 'at the epochs of loss and metric'}"
    shown = search.shown
    signals = _signals(graph, search, judged)
    why = []
    if signals:
        listed = ", ".join(f"{name} {shown(value)}" for name, value in signals.items())
        why.append(f"signals on judged nodes: {listed}; {max(signals, key=lambda name: signals[name])} carry most")
    best = max(tried, key=lambda row: oriented_score(graph.metric, row.score))
    why.append(f"{len(tried)} configurations tried; the best single one, {best.title}, has {shown(selection.single)}")
    if len(chosen) > 1:
        reason = (
            f"chosen crosswise, an average has {shown(selection.crosswise)} where a single one has "
            f"{shown(selection.single_crosswise)}"
        )
    else:
        reason = "averaging does not pay on judged nodes"
    metric = find_metric(graph.metric)
    sign, digits = metric.sign, metric.digits
    why.append(f"chosen: {text}: {shown(selection.gain)} on judged nodes; {reason}")
    why.append(
        f"expected on test nodes: {expected.score:.{digits}f}, between {expected.low:.{digits}f} and "
        f"{expected.high:.{digits}f}"
    )
    by_folds = judged[0].outer is None
    return FinishedChoice(
        **asdict(scores),
        model="auto",
        chosen=text,
        config=ConfigRecord.of(runs[0].config),
        why=tuple(why),
        members=tuple(run.path.name for run in runs),
        complete=True,
        refitted=False,
        budget=budget,
        judged_by="cross-validation" if by_folds else "validation nodes",
        judged=sign * selection.gain,
        best_single=sign * selection.single,
        expected=ExpectedRange(expected.score, expected.low, expected.high),
        above_majority=expected.above_majority,
        signals={name: sign * value for name, value in signals.items()},
        configurations=len(tried),
        evaluations=sum(len(candidate.judgements) for candidate in search.candidates.values()),
        tried=tuple(tried),
        skipped=dict(search.skipped) | {entry.title: "the time was over" for entry in search.portfolio},
        failed={
            candidate.title: candidate.failed
            for candidate in search.candidates.values()
            if candidate.failed is not None
        },
        warnings=(),
        seconds=0.0,
    )


def tried_candidate_rows(graph: Graph, search: Search, judged: Sequence[Holdout]) -> list[TriedCandidate]:
    """Every candidate with any score: where it was judged, how long it trained."""
    sign = find_metric(graph.metric).sign
    rows = []
    for candidate in search.candidates.values():
        if not candidate.judgements:
            continue
        best = candidate.best(graph, tuple(judged))
        first = candidate.best(graph, search.stages[0].holdouts[:1])
        rows.append(
            TriedCandidate(
                number=candidate.number,
                title=candidate.title,
                model=candidate.config.model,
                origin=candidate.origin,
                score=None if best is None else sign * best[0],
                first_score=None if first is None else sign * first[0],
                select=None if best is None else best[1],
                judged_in=tuple(sorted(candidate.judgements)),
                epochs=max(judgement.epochs for judgement in candidate.judgements.values()),
                seconds=round(sum(judgement.seconds for judgement in candidate.judgements.values()), 2),
            )
        )
    return rows


def _signals(graph: Graph, search: Search, judged: Sequence[Holdout]) -> dict[str, float]:
    """Return the best gain of models that see features alone, links alone, and both."""
    gains: dict[str, float] = {}
    for candidate in search.candidates.values():
        best = candidate.best(graph, tuple(judged[:1]))
        if best is None or candidate.title == "majority":
            continue
        reads = zoo.specification_of(candidate.config.model).reads
        name = "links" if "features" not in reads else BOTH if "links" in reads else "features"
        gains[name] = max(gains.get(name, -math.inf), best[0])
    return gains


def auto_choice_warnings(
    graph: Graph,
    search: Search,
    chosen: Sequence[Member],
    expected: ExpectedScore,
    *,
    seconds: float,
    workers: int,
) -> list[str]:
    """What the reader should know before using the result."""
    texts = []
    if not expected.above_majority:
        texts.append(
            "the choice is not clearly above predicting by class shares alone; do not rely on it (more labels, other "
            "features or a longer budget may help)"
        )
    wanted = _wanted_seconds(graph, search, seconds, workers)
    wanted = wanted if wanted < 120 else 60 * math.ceil(wanted / 60)
    untried = len(search.skipped) + len(search.portfolio)
    if untried:
        texts.append(
            f"the budget of {_duration(seconds)} was too small for this graph on this machine: {untried} of "
            f"{search.portfolio_size} first configurations were not tried; about {_duration(wanted)} would do"
        )
    elif any(_improves(member) for member in chosen):
        texts.append(
            "what was chosen was still improving when the time was over; the same command goes on, best with a longer "
            "budget"
        )
    return texts


def _improves(member: Member) -> bool:
    return any(
        not judgement.finished and judgement.best_epochs[member.rule][0] > STILL_IMPROVING * judgement.epochs
        for judgement in member.candidate.judgements.values()
        if member.rule in judgement.best_epochs
    )


def _wanted_seconds(graph: Graph, search: Search, seconds: float, workers: int) -> float:
    """A budget in which all first configurations would have been tried, and the best of them trained to the end."""
    titles = {*search.skipped, *(entry.title for entry in search.portfolio)}
    trainings = len(search.stages[0].holdouts) * len(search.stages[0].holdouts[0].splits)
    rest = 0.0
    for entry in search.entries:
        if entry.title in titles:
            epochs = min(search.stages[0].epochs, EPOCHS // 3)
            rest += search.costs.seconds(entry.config(graph, search.seed), epochs, trainings)
    return seconds + 1.5 * rest / workers


def overtime_warnings(taken: float, seconds: float, spent: float) -> list[str]:
    """What the reader should know where the budget was not kept; `spent` of it was over before anything was tried."""
    if taken <= LATE * seconds:
        return []
    return [
        f"it took {_duration(taken)} instead of {_duration(seconds)}, of which {_duration(spent)} went to importing "
        "and reading: that, an evaluation of the simplest model and writing what was chosen are never cut short"
    ]


def _duration(seconds: float) -> str:
    """Seconds, or minutes and seconds, or hours; rounded up to a second."""
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    minutes, rest = divmod(math.ceil(seconds), 60)
    if minutes < 2:
        return f"{math.ceil(seconds)} s"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
