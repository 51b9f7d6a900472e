"""Pages and links: the text decides the section, links help a bit."""

from __future__ import annotations

import json

import numpy as np

from gpcn.core.types import IntVector
from gpcn.data.presets.tables import (
    Drawn,
    Month,
    Table,
    draw_choices,
    draw_partners,
    first_preset_rows,
    select_preset_columns,
    with_missing_cells,
)
from gpcn.data.presets.words import SECTIONS, SHARED

UNLABELLED, NO_LANG, NEW = 0.05, 0.06, 0.10
LINKS_PER_PAGE = 5
HOMOPHILY = 0.55
NAMES = tuple(SECTIONS)
TOPIC_SHARE, ASIDE_SHARE, FOREIGN_SHARE = 0.4, 0.12, 0.1  # of words: in texts, in titles and tags, of other sections
LANGUAGES = {"en": 0.8, "de": 0.12, "fr": 0.06, "mt": 0.02}


def draw_pages(nodes: int, seed: int) -> Drawn:
    """`nodes` pages with five times as many links; next month a tenth more pages, and their links beside the old."""
    rng = np.random.default_rng([seed, 3])
    everybody = nodes + round(NEW * nodes)
    section = np.concatenate([rng.permutation(size) % len(NAMES) for size in (nodes, everybody - nodes)])
    pages = _pages(section, rng)
    truth = [NAMES[number] for number in section]
    now = first_preset_rows(pages, nodes) | {
        "section": with_missing_cells(truth[:nodes], round(UNLABELLED * nodes), rng)
    }
    links = _links(pages["url"], section[:nodes], np.arange(nodes), rng)
    fresh = _links(pages["url"], section, np.arange(nodes, everybody), rng)
    return Drawn(
        now=Month(nodes=now, edges=links),
        next=Month(
            nodes=_next_pages(pages, nodes, rng),
            edges={name: links[name] + fresh[name] for name in ("links_to", "page")},
        ),
        truth=dict(zip(pages["url"], truth, strict=True)),
    )


def _pages(section: IntVector, rng: np.random.Generator) -> Table:
    size = section.size
    titles, texts, tags = [], [], []
    for number in section:
        titles.append(" ".join(_words(int(number), int(rng.integers(3, 6)), ASIDE_SHARE, rng)).capitalize())
        sentences = [
            _words(int(number), int(rng.integers(7, 15)), TOPIC_SHARE, rng) for _ in range(int(rng.integers(1, 3)))
        ]
        texts.append(" ".join(" ".join(sentence).capitalize() + "." for sentence in sentences))
        tags.append(json.dumps(list(dict.fromkeys(_words(int(number), int(rng.integers(0, 4)), ASIDE_SHARE, rng)))))
    slugs = [f"{a}-{b}" for a, b in zip(draw_choices(SHARED, size, rng), draw_choices(SHARED, size, rng), strict=True)]
    return {
        "url": [f"https://example.org/{1000 + number}/{slug}" for number, slug in enumerate(slugs)],
        "title": titles,
        "text": texts,
        "words": [str(len(text.split())) for text in texts],
        "tags": with_missing_cells(tags, round(0.05 * size), rng),
        "lang": with_missing_cells(
            draw_choices(list(LANGUAGES), size, rng, list(LANGUAGES.values())), round(NO_LANG * size), rng
        ),
    }


def _words(section: int, size: int, share: float, rng: np.random.Generator) -> list[str]:
    """Words that all pages use, among them a few of this section and fewer of others."""
    kind = rng.random(size)
    topic, foreign = SECTIONS[NAMES[section]], SECTIONS[NAMES[int(rng.integers(len(NAMES)))]]
    pools = [topic if u < share else foreign if u < share + FOREIGN_SHARE else SHARED for u in kind]
    return [pool[int(rng.integers(len(pool)))] for pool in pools]


def _links(urls: list[str], section: IntVector, sources: IntVector, rng: np.random.Generator) -> Table:
    """Links that leave `sources`, to any page in `section`."""
    source = rng.choice(sources, size=LINKS_PER_PAGE * sources.size)
    step = np.where(rng.random(source.size) < HOMOPHILY, 0, rng.integers(1, len(NAMES), source.size))
    target = draw_partners(section, (section[source] + step) % len(NAMES), rng)
    keep = source != target
    return {"page": [urls[node] for node in source[keep]], "links_to": [urls[node] for node in target[keep]]}


def _next_pages(pages: Table, nodes: int, rng: np.random.Generator) -> Table:
    """Without `title` and the label; a new language, new tags and words, longer texts than those seen."""
    changed = {name: list(values) for name, values in pages.items()}
    for row in range(nodes, len(changed["url"])):
        if rng.random() < 0.1:
            changed["lang"][row] = "pt"
        if rng.random() < 0.2:
            changed["tags"][row] = json.dumps([*json.loads(changed["tags"][row] or "[]"), "breaking"])
        if rng.random() < 0.2:
            changed["text"][row] += " Updated by the newsroom desk this morning."
            changed["words"][row] = str(len(changed["text"][row].split()))
    return select_preset_columns(changed, ("lang", "words", "url", "tags", "text"))
