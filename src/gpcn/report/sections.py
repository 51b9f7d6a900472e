"""The sections of a page, in one list: what each is called, what it is made of, and the function that writes it.

A section is a function from its material to HTML (`templating.render` escapes all text). To add one, for example of a
hyperparameter study: write `study_section.section`, let `materials.READERS` recognize its folder, and add it here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gpcn.report import comparison_section, graph_section, run_section
from gpcn.report.materials import ComparisonMaterial, GraphMaterial, RunMaterial


@dataclass(frozen=True)
class SectionKind:
    """A kind of section."""

    kind: str
    material: type
    section: Callable[[Any], Markup]


SECTIONS = (
    SectionKind("graph", GraphMaterial, graph_section.section),
    SectionKind("comparison", ComparisonMaterial, comparison_section.section),
    SectionKind("run", RunMaterial, run_section.section),
)


def section_for(material: object) -> SectionKind:
    """The kind of section that is made of `material`."""
    return next(each for each in SECTIONS if isinstance(material, each.material))
