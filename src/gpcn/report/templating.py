"""The templates, with escaping always on and every missing name an error."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpcn.report.escaping import script_json, without_control_characters


def render_template(template: str, **values: object) -> Markup:
    """A template filled in; whatever is in `values` is text, unless it was rendered here before."""
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704


def template_file(name: str) -> str:
    """The text of a style or script that goes into the page as it is."""
    return (files("gpcn.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gpcn.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=without_control_characters,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["script_json"] = script_json
    return environment
