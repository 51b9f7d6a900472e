"""The templates, with escaping always on and every missing name an error."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpcn.report.escaping import for_page, script_json


def render(template: str, **shown: object) -> Markup:
    """A template filled in; whatever is in `shown` is text, unless it was rendered here before."""
    return Markup(_environment().get_template(template).render(**shown))  # noqa: S704


def own(file: str) -> str:
    """A file of this room that goes into the page as it is."""
    return (files("gpcn.report") / "templates" / file).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("gpcn.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=for_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["script_json"] = script_json
    return made
