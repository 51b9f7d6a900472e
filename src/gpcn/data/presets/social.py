"""People who follow the next group and block the one after: tags and neighbours tell the group."""

from __future__ import annotations

import numpy as np

from gpcn.core.types import IntVector
from gpcn.data.presets.tables import (
    Drawn,
    Month,
    Table,
    date_texts,
    draw_choices,
    draw_partners,
    first_preset_rows,
    select_preset_columns,
    with_missing_cells,
)
from gpcn.data.presets.words import BIO, CITIES, FIRST_NAMES, LAST_NAMES, TAGS

GROUPS = ("north", "east", "south", "west")
UNLABELLED, NO_YEAR, NO_CITY, BLOCKS, NEW = 0.05, 0.12, 0.05, 0.12, 0.10
FRIENDS_PER_PERSON = 6
FOLLOWS = (0.1, 0.6, 0.1, 0.2)  # shares of links to the same group, the next, the one after, the one before
BLOCKED = (0.1, 0.1, 0.7, 0.1)
CITY_SHARES = [1 / rank for rank in range(1, len(CITIES) + 1)]
TYPICAL_TAGS, TYPICAL_SHARE = 10, 0.45


def draw_social(nodes: int, seed: int) -> Drawn:
    """`nodes` people with six times as many links; next month a tenth more people, and their links beside the old."""
    rng = np.random.default_rng([seed, 2])
    everybody = nodes + round(NEW * nodes)
    group = np.concatenate([rng.permutation(size) % len(GROUPS) for size in (nodes, everybody - nodes)])
    people = _people(group, rng)
    truth = [GROUPS[number] for number in group]
    now = first_preset_rows(people, nodes) | {
        "group": with_missing_cells(truth[:nodes], round(UNLABELLED * nodes), rng)
    }
    names = people["person"]
    links = _friends(names, group[:nodes], np.arange(nodes), "2020-01-01", rng)
    fresh = _friends(names, group, np.arange(nodes, everybody), "2024-01-01", rng)
    joined = {name: links[name] + fresh[name] for name in ("since", "to_person", "kind", "from_person")}
    muted = rng.random(len(joined["kind"])) < 0.02
    joined["kind"] = ["mutes" if mute else kind for mute, kind in zip(muted, joined["kind"], strict=True)]
    return Drawn(
        now=Month(nodes=now, edges=links),
        next=Month(nodes=_next_people(people, nodes, rng), edges=joined),
        truth=dict(zip(names, truth, strict=True)),
    )


def _people(group: IntVector, rng: np.random.Generator) -> Table:
    size = group.size
    first, last = draw_choices(FIRST_NAMES, size, rng), draw_choices(LAST_NAMES, size, rng)
    typical = np.arange(len(TAGS)).reshape(len(GROUPS), TYPICAL_TAGS)
    interests = []
    for number in group:
        amount = int(rng.integers(1, 6))
        is_typical = rng.random(amount) < TYPICAL_SHARE
        drawn = np.where(is_typical, rng.choice(typical[number], amount), rng.integers(len(TAGS), size=amount))
        interests.append(";".join(dict.fromkeys(TAGS[tag] for tag in drawn)))
    bios = [" ".join(draw_choices(BIO, int(rng.integers(2, 9)), rng)).capitalize() + "." for _ in range(size)]
    return {
        "person": [f"{a}_{b}_{number}" for number, (a, b) in enumerate(zip(first, last, strict=True))],
        "birth_year": with_missing_cells(
            [str(year) for year in rng.integers(1950, 2009, size)], round(NO_YEAR * size), rng
        ),
        "joined": [text.replace("T", " ") for text in date_texts(1_500 * rng.random(size), "2019-06-01", "m")],
        "city": with_missing_cells(draw_choices(CITIES, size, rng, CITY_SHARES), round(NO_CITY * size), rng),
        "interests": with_missing_cells(interests, round(0.06 * size), rng),
        "bio": with_missing_cells(bios, round(0.2 * size), rng),
        "active": ["true" if active else "false" for active in rng.random(size) < 0.7],
    }


def _friends(names: list[str], group: IntVector, sources: IntVector, start: str, rng: np.random.Generator) -> Table:
    """Links that leave `sources`, to anybody in `group`."""
    total = FRIENDS_PER_PERSON * sources.size
    source = rng.choice(sources, size=total)
    block = rng.random(total) < BLOCKS
    steps = [rng.choice(len(GROUPS), size=total, p=shares) for shares in (FOLLOWS, BLOCKED)]
    target = draw_partners(group, (group[source] + np.where(block, steps[1], steps[0])) % len(GROUPS), rng)
    keep = source != target
    source, target, block = source[keep], target[keep], block[keep]
    return {
        "from_person": [names[node] for node in source],
        "to_person": [names[node] for node in target],
        "kind": ["blocks" if flag else "follows" for flag in block],
        "since": date_texts(700 * rng.random(source.size), start, "D"),
    }


def _next_people(people: Table, nodes: int, rng: np.random.Generator) -> Table:
    """Without `active` and the label; a new city, new tags and words, birth years beyond those seen."""
    size = len(people["person"])
    changed = {name: list(values) for name, values in people.items()}
    for row in range(nodes, size):
        if rng.random() < 0.2:
            changed["city"][row] = "Valletta"
        if rng.random() < 0.3:
            changed["interests"][row] = ";".join(filter(None, (changed["interests"][row], "padel")))
        if rng.random() < 0.3:
            changed["bio"][row] = "Newcomer here, hello everybody."
        if changed["birth_year"][row] and rng.random() < 0.1:
            changed["birth_year"][row] = str(rng.integers(2009, 2012))
    return select_preset_columns(changed, ("bio", "city", "birth_year", "person", "interests", "joined"))
