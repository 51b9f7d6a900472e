"""The page: sections put together with style, script and charts into one file that asks nothing of a network.

A `Content-Security-Policy` in the page forbids every request and every script but the three whose checksums it names.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

from gpcn.core.atomic import replacing
from gpcn.core.errors import ConfigError


def write(
    paths: Sequence[str | Path] | str | Path,
    out: str | Path,
    *,
    mirror: Path | None = None,
    graph: str | None = None,
    nodes: Path | None = None,
    names_nodes: bool = True,
    new_tables: Sequence[Any] = (),
) -> dict[str, Any]:
    """Write one HTML page about runs, comparisons, studies, theory and graphs.

    Args:
        paths: folders written by `gpcn train`, `compare` or `tune --out`, documents of `gpcn bound --out` or
            `gpcn spectrum --out`, and graphs (as for `gpcn.load`).
        out: the page, a name that ends in `.html`.
        mirror: a folder with the raw files of the datasets.
        graph: where the graph of the runs lies now, if not where it was; read with the options of the runs.
        nodes: its table of nodes, where `graph` is a table of edges.
        names_nodes: whether single nodes and links may be shown; without, the page can be passed on where these are
            private.
        new_tables: `materials.NewTablesMaterial` to end with; `api.report_page.write_report_page` makes them.

    Returns:
        `out, bytes, sections: [{kind, name}]`.
    """
    target = Path(out)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"cannot write a report to {target}; expected a name that ends in .html")
    from gpcn.report.materials import gather_materials
    from gpcn.report.sections import section_for
    from gpcn.report.templating import render_template, template_file

    path_list = [paths] if isinstance(paths, (str, Path)) else paths
    materials = gather_materials(
        [str(path) for path in path_list], mirror, graph=graph, nodes=nodes, names_nodes=names_nodes
    )
    materials += new_tables
    kinds = [section_for(material) for material in materials]
    sections = [
        {"kind": kind.kind, "name": material.name, "html": kind.section(material)}
        for kind, material in zip(kinds, materials, strict=True)
    ]
    scripts = {"early": template_file("early.js"), "plotly": charts_script(), "main": template_file("page.js")}
    text = render_template("page.html", **_page_values(sections, scripts)).encode()
    with replacing(target) as stream:
        stream.write(text)
    listed = [{"kind": section["kind"], "name": section["name"]} for section in sections]
    return {"out": str(target), "bytes": len(text), "sections": listed}


def _page_values(sections: list[dict[str, Any]], scripts: dict[str, str]) -> dict[str, Any]:
    """What `page.html` is filled with."""
    from markupsafe import Markup

    from gpcn.report.palette import colour_declarations
    from gpcn.report.templating import template_file

    trusted = {name: Markup(text) for name, text in scripts.items()}  # noqa: S704
    return {
        "title": " · ".join(dict.fromkeys(str(section["name"]) for section in sections)),
        "sections": sections,
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": metadata.version("gpcn"),
        "policy": content_security_policy(list(scripts.values())),
        "light": Markup(colour_declarations(dark=False)),  # noqa: S704
        "dark": Markup(colour_declarations(dark=True)),  # noqa: S704
        "style": Markup(template_file("style.css")),  # noqa: S704
        "scripts": trusted,
    }


def content_security_policy(scripts: Sequence[str]) -> str:
    """What the page may do: run these scripts, style itself, draw. Plotly styles its charts from script."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def charts_script() -> str:
    """The script that draws the charts, plotly.js, packed beside the templates by `docs/generate.py charts`."""
    packed = files("gpcn.report") / "templates" / "plotly.min.js.gz"
    return gzip.decompress(packed.read_bytes()).decode()
