"""What was last requested of a study, kept beside it, so that going on needs nothing but its folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from gpcn.core.atomic import replacing
from gpcn.core.errors import CheckpointError, ConfigError, Option
from gpcn.records import layout
from gpcn.search.storage import storage_location


@dataclass(frozen=True)
class StudyRequest:
    """The budget as it was written, and where the study lives if not in its folder (nobody's name or password)."""

    budget: str
    elsewhere: str | None = None

    @classmethod
    def of(cls, folder: Path, budget: str, storage: str | None) -> StudyRequest:
        """The request for a study in `folder`; of an address in `storage`, what may be written down."""
        return cls(budget, None if storage is None else storage_location(folder, storage))

    def keep(self, folder: Path) -> None:
        """Write it beside the study."""
        with replacing(folder / layout.REQUEST) as stream:
            stream.write(json.dumps(asdict(self)).encode())


def last_request(folder: Path) -> StudyRequest | None:
    """The last request for the study in `folder`; `None` where a program began the study."""
    file = folder / layout.REQUEST
    if not file.is_file():
        return None
    try:
        settings = json.loads(file.read_bytes())
        request = StudyRequest(**settings)
        if not isinstance(request.budget, str) or not isinstance(request.elsewhere, str | None):
            raise TypeError("budget and place are not text")
        return request
    except (OSError, ValueError, TypeError) as error:
        raise CheckpointError(
            f"{file} is damaged: {error}; delete it, and name {Option('budget')} (and {Option('storage')})"
        ) from error


def check_study_location(folder: Path, storage: str | None) -> None:
    """Refuse to look for a study in its folder that lives elsewhere: there, a second one would begin."""
    request = last_request(folder)
    if request is not None and request.elsewhere is not None and storage is None:
        raise ConfigError(
            f"the study of {folder} lives at {request.elsewhere}; name its address with {Option('storage')}"
        )
