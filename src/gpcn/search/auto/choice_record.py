"""Records of what `auto` chose, as `auto.json` holds them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from gpcn.records.reading import Count, Number, Seconds
from gpcn.runs.records import ConfigRecord
from gpcn.tasks.metrics import find_metric

MemberName: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9]{4,}-(loss|metric)$")]
"""What the run of a member is called, such as `0007-loss`."""


class AutoSplit(Struct, frozen=True, kw_only=True):
    """Scores of the average on one split."""

    split: Count
    train: Number | None
    val: Number | None
    test: Number | None


class AverageScores(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Scores of an average of runs on every split, and their means."""

    graph: str
    metric: str
    test_mean: Number | None
    test_std: Number | None
    val_mean: Number | None
    splits: tuple[AutoSplit, ...]


class AutoChoice(AverageScores, frozen=True, kw_only=True, omit_defaults=True):
    """What was chosen, and why.

    Args:
        config: of the member that counts most.
        members: the runs whose probabilities are averaged; one that counts twice is there twice.
        complete: whether the search came to its end; if so it is a `FinishedChoice`.
    """

    model: Literal["auto"]
    chosen: str
    config: ConfigRecord
    why: tuple[str, ...]
    members: tuple[MemberName, ...]
    complete: bool

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError("it names no members")
        find_metric(self.metric)


class ExpectedRange(Struct, frozen=True):
    """The score that test nodes should have, and the ends of its interval."""

    score: Number
    low: Number
    high: Number


class TriedCandidate(Struct, frozen=True, kw_only=True):
    """A configuration that was tried.

    Args:
        score: on the nodes that decided; `first_score` on those that judged it first.
        select: the rule that chose its epoch.
        judged_in: the holdouts that judged it.
    """

    number: Count
    title: str
    model: str
    origin: str
    score: Number | None
    first_score: Number | None
    select: str | None
    judged_in: tuple[str, ...]
    epochs: Count
    seconds: Seconds


class FinishedChoice(AutoChoice, frozen=True, kw_only=True, omit_defaults=True):
    """What a search that came to its end chose, out of what, and why.

    Args:
        judged: the score of the choice on judged nodes, `best_single` that of its best configuration alone.
        above_majority: whether it is clearly above the class shares there.
        signals: the best score by what models read.
        skipped: configurations that were not tried, and why; `failed` those that could not be trained.
        refitted: whether members predict that were trained on validation nodes too, the `refitted_members`.
    """

    refitted: bool
    budget: Seconds
    judged_by: str
    judged: Number
    best_single: Number
    expected: ExpectedRange
    above_majority: bool
    signals: dict[str, Number]
    configurations: Count
    evaluations: Count
    tried: tuple[TriedCandidate, ...]
    skipped: dict[str, str]
    failed: dict[str, str]
    warnings: tuple[str, ...]
    seconds: Seconds
    refitted_members: tuple[MemberName, ...] = ()
