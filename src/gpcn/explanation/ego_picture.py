"""A picture of one prediction: the node, the nodes that matter to it, and how much, as plain SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from gpcn.core.atomic import replacing
from gpcn.core.errors import ConfigError
from gpcn.core.text import printable_text
from gpcn.explanation.account import Explanation
from gpcn.explanation.explained_model import explained_node_position
from gpcn.graph import Graph

REACH = 200  # nodes of each part that are summed up
MOST = 20  # nodes in the picture
WIDTH, HEIGHT, INNER, OUTER = 900, 760, 155, 275
FOR, AGAINST, INK, QUIET = "#0b6bb0", "#d2700a", "#1f2328", "#5c636d"
CLASSES = ("#5fb3ee", "#f2a444", "#3fc79b", "#e291c1", "#d8c07a", "#b6bcc6", "#8c7ae6", "#7f8c5a")
LONGEST = 14  # characters of a name


@dataclass(frozen=True)
class Neighbour:
    """A node that matters: its index in the graph, its `margin` summed over all parts, and where it is drawn."""

    index: int
    name: str
    label: str | None
    margin: float
    x: float = 0.0
    y: float = 0.0
    parent: int | None = None


def write_picture(account: Explanation, graph: Graph, path: Path) -> None:
    """Write the picture of an account of a prediction (`one_prediction.explain`, best with `top=REACH`)."""
    if path.suffix.lower() != ".svg":
        raise ConfigError(f"cannot write a picture to {path}; expected a name that ends in .svg")
    text = ego_picture(account, graph)
    with replacing(path) as stream:
        stream.write(text.encode())


def ego_picture(account: Explanation, graph: Graph) -> str:
    """SVG: direct neighbours in the inner ring, nodes further away in the outer, links as wide as what they carry."""
    centre = explained_node_position(graph, account.node)
    neighbours = _arranged(_strongest(account, graph), graph, centre)
    labels = [account.predicted, account.label, *(neighbour.label for neighbour in neighbours)]
    classes = sorted({label for label in labels if label})
    colours = {name: CLASSES[number % len(CLASSES)] for number, name in enumerate(classes)}
    widest = max((abs(neighbour.margin) for neighbour in neighbours), default=1.0) or 1.0
    points: dict[int | None, tuple[float, float]] = {
        neighbour.index: (neighbour.x, neighbour.y) for neighbour in neighbours
    }
    title = f"{account.node} is predicted {account.predicted}, {account.probability:.1%}"
    body = [
        _text(WIDTH / 2, 30, title, size=18, weight="600"),
        _text(WIDTH / 2, 52, _subtitle(account, neighbours), QUIET),
    ]
    for neighbour in neighbours:
        start = points.get(neighbour.parent, (0.0, 0.0))
        dashed = neighbour.parent is None
        body.append(_line(start, (neighbour.x, neighbour.y), neighbour.margin, widest, dashed=dashed))
    for neighbour in neighbours:
        hover = f"{neighbour.name}: {neighbour.margin:+.3f}, {neighbour.label or 'no label'}"
        body.append(_dot((neighbour.x, neighbour.y), 11, colours.get(neighbour.label or ""), hover))
        body.append(_text(*_on_canvas(neighbour.x, neighbour.y + 25), _short(neighbour.name)))
        body.append(_text(*_on_canvas(neighbour.x, neighbour.y + 38), f"{neighbour.margin:+.2f}", QUIET, size=11))
    label = f"{account.node}: label {account.label or 'unknown'}"
    body += [_dot((0.0, 0.0), 17, colours[account.predicted], label, ring=INK)]
    body += [_text(*_on_canvas(0.0, 34), _short(account.node), weight="600"), *_legend(colours)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="system-ui, sans-serif" role="img" aria-label="{_escaped(title)}">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _strongest(account: Explanation, graph: Graph) -> list[Neighbour]:
    """The nodes that give most, for or against, over all parts."""
    totals: dict[str, float] = {}
    labels: dict[str, str | None] = {}
    for source in account.sources:
        for node in source.top:
            if not node.itself:
                totals[node.node] = totals.get(node.node, 0.0) + node.margin
                labels[node.node] = node.label
    ranked = sorted(totals, key=lambda name: -abs(totals[name]))[:MOST]
    return [
        Neighbour(explained_node_position(graph, name), name, labels[name], totals[name])
        for name in ranked
        if totals[name]
    ]


def _arranged(neighbours: Sequence[Neighbour], graph: Graph, centre: int) -> list[Neighbour]:
    """Direct neighbours around the centre, each with a sector as wide as those behind it need; these further out."""

    def linked(first: int, second: int) -> bool:
        return bool(graph.adjacency[first, second] or graph.adjacency[second, first])

    inner = [neighbour for neighbour in neighbours if linked(centre, neighbour.index)]
    children: dict[int | None, list[Neighbour]] = {neighbour.index: [] for neighbour in inner} | {None: []}
    for neighbour in neighbours:
        if neighbour not in inner:
            parent = next((direct.index for direct in inner if linked(direct.index, neighbour.index)), None)
            children[parent].append(neighbour)
    widths = {parent: len(group) or int(parent is not None) for parent, group in children.items()}
    turn = 2 * math.pi / max(1, sum(widths.values()))
    start = -math.pi / 2 - turn * next(iter(widths.values())) / 2
    drawn = []
    for direct in [*inner, None]:
        parent = None if direct is None else direct.index
        if direct is not None:
            drawn.append(_placed(direct, INNER, start + turn * widths[parent] / 2, centre))
        for number, neighbour in enumerate(children[parent]):
            drawn.append(_placed(neighbour, OUTER, start + turn * (number + 0.5), parent))
        start += turn * widths[parent]
    return drawn


def _placed(neighbour: Neighbour, radius: float, angle: float, parent: int | None) -> Neighbour:
    x, y = radius * math.cos(angle), radius * math.sin(angle)
    return Neighbour(neighbour.index, neighbour.name, neighbour.label, neighbour.margin, x, y, parent)


def _subtitle(account: Explanation, neighbours: Sequence[Neighbour]) -> str:
    lead = f"lead over {account.runner_up} {account.sum.margin:+.2f}"
    if not neighbours:
        return f"{lead}; no other node counts"
    return f"{lead}; the {len(neighbours)} node(s) that count most, with what each adds to the lead"


def _on_canvas(x: float, y: float) -> tuple[float, float]:
    """Coordinates around the centre of the picture as those of the SVG."""
    return WIDTH / 2 + x, (HEIGHT - 10) / 2 + y


def _line(start: tuple[float, float], end: tuple[float, float], margin: float, widest: float, *, dashed: bool) -> str:
    (x1, y1), (x2, y2) = _on_canvas(*start), _on_canvas(*end)
    width = 1 + 8 * abs(margin) / widest
    pattern = ' stroke-dasharray="3 5"' if dashed else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{FOR if margin >= 0 else AGAINST}" '
        f'stroke-width="{width:.2f}" stroke-opacity="0.55"{pattern}/>'
    )


def _dot(point: tuple[float, float], radius: float, fill: str | None, hover: str, ring: str = QUIET) -> str:
    x, y = _on_canvas(*point)
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill or "#ffffff"}" stroke="{ring}" '
        f'stroke-width="1.5"><title>{_escaped(hover)}</title></circle>'
    )


def _text(
    x: float, y: float, text: str, fill: str = INK, size: int = 12, weight: str = "400", anchor: str = "middle"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{fill}" '
        f'text-anchor="{anchor}" paint-order="stroke" stroke="#ffffff" stroke-width="3">{_escaped(text)}</text>'
    )


def _legend(colours: Mapping[str, str]) -> list[str]:
    y, marks = HEIGHT - 14, []
    entries = [("circle", name, colour) for name, colour in list(colours.items())[: len(CLASSES)]]
    entries += [("line", "speaks for it", FOR), ("line", "against it", AGAINST)]
    x, step = 24.0, (WIDTH - 40) / len(entries)
    for kind, name, colour in entries:
        mark = (
            f'<circle cx="{x:.1f}" cy="{y - 4}" r="6" fill="{colour}" stroke="{QUIET}"/>'
            if kind == "circle"
            else f'<path d="M{x - 8:.1f} {y - 4}h16" stroke="{colour}" stroke-width="5"/>'
        )
        marks += [mark, _text(x + 13, y, _short(name), anchor="start")]
        x += step
    return marks


def _short(text: str) -> str:
    plain = printable_text(text)
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"


def _escaped(text: str) -> str:
    return escape(printable_text(text), quote=True)
