"""The map of rooms in CONTRIBUTING, drawn from what the package's modules really import: `docs/generate.py rooms`.

A room is a folder of `src/gpcn` or a module beside them. Whatever a room imports lies below it; rooms that import each
other share a box. An arrow is left out where another way leads to the same room.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "gpcn"
ENTRANCES = {"__init__", "__main__"}  # they name what others define
Imports = dict[str, set[str]]  # room -> rooms it imports

WIDTH, MARGIN, LETTER = 1180, 16, 7.3  # px
BOX, GAP, RISE = 26, 12, 64  # height of a box, between boxes, from layer to layer
STYLE = (
    "text{font:12px ui-monospace,monospace;fill:#1f2937;text-anchor:middle;dominant-baseline:central}"
    "rect{fill:#eef2ff;stroke:#6366f1;rx:5}rect.module{fill:#fff;stroke:#9ca3af}"
    "path{fill:none;stroke:#9ca3af;stroke-opacity:.6}svg{background:#fff}"
)


def imports_between_rooms(source: Path = SOURCE) -> Imports:
    """What each room imports of others when it runs: imports for types alone do not count."""
    rooms: Imports = {}
    for path in sorted(source.rglob("*.py")):
        room = path.relative_to(source).parts[0].removesuffix(".py")
        if room not in ENTRANCES:
            imported = {name.split(".")[1] for name in _imported_modules(ast.parse(path.read_text()))}
            rooms.setdefault(room, set()).update(imported - {room})
    return {room: imported & rooms.keys() for room, imported in rooms.items()}


def _imported_modules(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names if alias.name.startswith("gpcn."))
        elif isinstance(child, ast.ImportFrom) and child.module == "gpcn":
            yield from (f"gpcn.{alias.name}" for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and (child.module or "").startswith("gpcn."):
            yield str(child.module)
        yield from _imported_modules(child)


def reachable(imports: Mapping[str, set[str]]) -> Imports:
    """All rooms that a room leads to."""
    result: Imports = {}
    for room in imports:
        seen, waiting = set[str](), [room]
        while waiting:
            new = imports[waiting.pop()] - seen
            seen |= new
            waiting += new
        result[room] = seen
    return result


def boxes_and_arrows(imports: Imports) -> tuple[dict[str, int], set[tuple[str, str]]]:
    """The layer of every box, from 0 at the bottom, and the arrows that no other way replaces."""
    leads = reachable(imports)
    box_of = {room: " · ".join(sorted({room} | {r for r in leads[room] if room in leads[r]})) for room in imports}
    below: Imports = {box: set() for box in box_of.values()}
    for room, imported in imports.items():
        below[box_of[room]] |= {box_of[other] for other in imported} - {box_of[room]}
    further = reachable(below)
    arrows = {
        (box, other)
        for box, others in below.items()
        for other in others
        if not any(other in further[between] for between in others - {other})
    }

    @cache
    def layer(box: str) -> int:
        return 1 + max(map(layer, below[box]), default=-1)

    return {box: layer(box) for box in below}, arrows


def draw(imports: Imports, folders: set[str]) -> str:
    """The map as SVG; `folders` are the rooms with several modules."""
    layers, arrows = boxes_and_arrows(imports)
    top = max(layers.values())
    middle: dict[str, tuple[float, float]] = {}
    rectangles, row = [], 0
    for level in range(top, -1, -1):
        for line in _lines(
            sorted((box for box, on in layers.items() if on == level), key=lambda b: _pull(b, arrows, middle))
        ):
            x = (WIDTH - sum(map(_width, line)) - GAP * (len(line) - 1)) / 2
            y = MARGIN + row * RISE + BOX / 2
            for box in line:
                middle[box] = (x + _width(box) / 2, y)
                kind = "" if folders & set(box.split(" · ")) else ' class="module"'
                rectangles.append(
                    f'<rect{kind} x="{x:.1f}" y="{y - BOX / 2:.1f}" width="{_width(box):.1f}" height="{BOX}"/>'
                    f'<text x="{middle[box][0]:.1f}" y="{y:.1f}">{box}</text>'
                )
                x += _width(box) + GAP
            row += 1
    paths = [_curve(middle[box], middle[other]) for box, other in sorted(arrows)]
    height = 2 * MARGIN + (row - 1) * RISE + BOX
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            "<title>What the rooms of gpcn import: from the top to the bottom</title>",
            f"<style>{STYLE}</style>",
            *paths,
            *rectangles,
            "</svg>\n",
        ]
    )


def _width(box: str) -> float:
    return LETTER * len(box) + 18


def _lines(boxes: list[str]) -> Iterator[list[str]]:
    """A layer in as many lines as it needs."""
    line: list[str] = []
    for box in boxes:
        if line and sum(map(_width, [*line, box])) + GAP * len(line) > WIDTH - 2 * MARGIN:
            yield line
            line = []
        line.append(box)
    if line:
        yield line


def _pull(box: str, arrows: set[tuple[str, str]], middle: Mapping[str, tuple[float, float]]) -> tuple[float, str]:
    """Where a box wants to stand: below those that point to it."""
    above = [middle[other][0] for other, pointed in arrows if pointed == box]
    return (sum(above) / len(above) if above else WIDTH / 2, box)


def _curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x, y), (to_x, to_y) = (start[0], start[1] + BOX / 2), (end[0], end[1] - BOX / 2)
    bend = (to_y - y) / 2
    return f'<path d="M{x:.1f} {y:.1f}C{x:.1f} {y + bend:.1f} {to_x:.1f} {to_y - bend:.1f} {to_x:.1f} {to_y:.1f}"/>'


def rooms_map(source: Path = SOURCE) -> str:
    """The map of the package as it is."""
    return draw(imports_between_rooms(source), {path.parent.name for path in source.glob("*/__init__.py")})
