"""The sections of a page, in one list: what each is called, what it is made of, and the function that writes it.

A section is a function from its material to HTML (`templating.render_template` escapes all text). To add one: write
its function, let `materials.READERS` recognize what it is made of, and add it here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gpcn.report.auto_section import auto_section
from gpcn.report.comparison_section import comparison_section
from gpcn.report.drift_section import drift_section
from gpcn.report.graph_section import graph_section
from gpcn.report.materials import (
    AutoMaterial,
    ComparisonMaterial,
    GraphMaterial,
    NewTablesMaterial,
    RunMaterial,
    StudyMaterial,
    TheoryMaterial,
)
from gpcn.report.run_section import run_section
from gpcn.report.study_section import study_section
from gpcn.report.theory_section import theory_section


@dataclass(frozen=True)
class SectionKind:
    """A kind of section."""

    kind: str
    material: type
    section: Callable[[Any], Markup]


SECTIONS = (
    SectionKind("graph", GraphMaterial, graph_section),
    SectionKind("comparison", ComparisonMaterial, comparison_section),
    SectionKind("run", RunMaterial, run_section),
    SectionKind("auto", AutoMaterial, auto_section),
    SectionKind("new tables", NewTablesMaterial, drift_section),
    SectionKind("study", StudyMaterial, study_section),
    SectionKind("theory", TheoryMaterial, theory_section),
)


def section_for(material: object) -> SectionKind:
    """The kind of section that is made of `material`."""
    return next(kind for kind in SECTIONS if isinstance(material, kind.material))
