"""A study on disk, through Optuna's storage: every configuration, every evaluation once, how each ended.

One SQLite file in the study's folder, or any storage that Optuna knows. A trial appears with its whole configuration in
one transaction, an evaluation in another; all else can be worked out from these, so a kill loses what was in flight
and nothing more. One driver at a time writes (`driven`); readers come and go.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from gpcn.core.errors import CheckpointError, ConfigError, GpcnError, Option
from gpcn.records import layout
from gpcn.records.reading import Count, Number, decode
from gpcn.records.sealed import write_sealed
from gpcn.runs.folders import with_paths_beside
from gpcn.search.lease import Lease, leased_study
from gpcn.search.outcomes import checked_outcome, outcome_with_checksum
from gpcn.search.proposal import optuna_distributions
from gpcn.search.schedule import State, Trial
from gpcn.search.storage import open_storage, sqlite_file, storage_errors, storage_location
from gpcn.search.study_header import StudyHeader, read_study_header
from gpcn.search.tasks import Outcome, TrialTask

ENDS = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "diverged": TrialState.FAIL}
EVALUATION = "evaluation:"


class Ledger:
    """The study in `folder`; `header` says what it is a study of."""

    def __init__(
        self, folder: Path, header: StudyHeader, storage: BaseStorage, study: int, *, url: str | None = None
    ) -> None:
        self.folder, self.header, self._url = folder, header, url
        self.graph, self.space, self.plan, self.seed = header.graph, header.space, header.plan, header.seed
        self._storage, self._study = storage, study
        self._lease: Lease | None = None
        self._ids: dict[int, int] = {}
        self.trials: list[Trial] = []
        self._read()

    @classmethod
    def create(cls, folder: Path, header: StudyHeader, url: str | None = None) -> Ledger:
        """A new study, or the one that is there if it is the same."""
        existing, source = None, header.graph.source
        source = None if source is None else with_paths_beside(source, folder)
        file = folder / layout.STUDY
        if file.exists():
            existing = read_study_header(folder)
            before, now = (replace(each, graph=replace(each.graph, source=None)) for each in (existing, header))
            different = [name for name in header.__struct_fields__ if getattr(before, name) != getattr(now, name)]
            if different:
                raise ConfigError(
                    f"{folder} holds another study (its {', '.join(different)} differ); choose another {Option('out')}"
                )
            source = source or existing.graph.source
        wanted = replace(header, graph=replace(header.graph, source=source))
        layout.refuse_folder_of_other_kind(folder, "study")
        storage = open_storage(folder, url)
        if not file.exists() or wanted != existing:
            write_sealed(file, wanted, indent=1, new_folders=existing is None)
        return cls._created_or_existing(folder, storage, url)

    @classmethod
    def open(cls, folder: Path, url: str | None = None) -> Ledger:
        """The study that is there."""
        read_study_header(folder)
        return cls._created_or_existing(folder, open_storage(folder, url), url)

    @classmethod
    def _created_or_existing(cls, folder: Path, storage: BaseStorage, url: str | None) -> Ledger:
        header = read_study_header(folder)
        with storage_errors(folder, url), suppress(DuplicatedStudyError):  # it is there, perhaps since this moment
            storage.create_new_study([StudyDirection.MAXIMIZE], header.name)
        return cls._existing(folder, header, storage, url)

    @classmethod
    def read(cls, folder: Path, url: str | None = None) -> Ledger:
        """The study that is there, for who only reads: nothing is made where nothing is."""
        header = read_study_header(folder)
        file = folder / layout.STUDY_STORAGE if url is None else sqlite_file(url)
        if file is not None and not file.is_file():
            raise CheckpointError(
                f"{folder} has no evaluations at {file}: it was not begun, or lives in another storage; name that with "
                f"{Option('storage')}"
            )
        return cls._existing(folder, header, open_storage(folder, url), url)

    @classmethod
    def _existing(cls, folder: Path, header: StudyHeader, storage: BaseStorage, url: str | None) -> Ledger:
        with storage_errors(folder, url):
            try:
                study = storage.get_study_id_from_name(header.name)
            except KeyError as error:
                raise CheckpointError(f"the study of {folder} is not at {storage_location(folder, url)}") from error
            return cls(folder, header, storage, study, url=url)

    @property
    def metric(self) -> str:
        """What the study's graph is judged by."""
        return self.graph.metric

    @contextmanager
    def driven(self) -> Iterator[None]:
        """Keep other drivers out while this one writes.

        A file in the folder is safe behind the folder's lock; a storage that others reach needs more.
        """
        if self._url is None:
            yield
            return
        with leased_study(self._storage, self.header.name) as lease:
            self._lease = lease
            self.trials.clear()
            with self._storage_access():
                self._read()  # what somebody else wrote before it was ours
            try:
                yield
            finally:
                self._lease = None

    def add(self, number: int, generation: int, point: dict[str, Any]) -> Trial:
        """A new configuration."""
        dimensions = optuna_distributions(self.space)
        attributes = {"generation": generation, "gpcn_number": number}
        frozen = create_trial(state=TrialState.RUNNING, params=point, distributions=dimensions, user_attrs=attributes)
        with self._storage_access():
            self._ids[number] = self._storage.create_new_trial(self._study, template_trial=frozen)
        trial = Trial(number, generation, point, self.space.config(point, seed=self.seed), metric=self.metric)
        self.trials.append(trial)
        return trial

    def record(self, task: TrialTask, outcome: Outcome) -> None:
        """What came out of `task`. A second outcome of the same task is not taken."""
        json.dumps(outcome, allow_nan=False)
        trial = self.trials[task.trial]
        if task.key in trial.outcomes:
            return
        with self._storage_access():
            self._storage.set_trial_user_attr(self._ids[task.trial], task.key, outcome_with_checksum(outcome))
        trial.outcomes[task.key] = outcome

    def end(self, trial: Trial, state: State, level: int, value: float | None) -> None:
        """How it ended: after which rung, and with which score."""
        if trial.state != "running":
            return
        identity = self._ids[trial.number]
        values = [value] if state == "complete" and value is not None else None
        with self._storage_access():
            if value is not None:
                self._storage.set_trial_intermediate_value(identity, level, value)
            self._storage.set_trial_state_values(identity, ENDS[state], values)
        trial.state, trial.value = state, value

    @contextmanager
    def _storage_access(self) -> Iterator[None]:
        """Reading or writing, by who may; what goes wrong with the storage is one sentence."""
        with storage_errors(self.folder, self._url):
            if self._lease is not None:
                self._lease.check()
            yield

    def _read(self) -> None:
        ends = {end: state for state, end in ENDS.items()}
        for frozen in self._storage.get_all_trials(self._study, deepcopy=False):
            position = frozen.user_attrs.get("gpcn_number")
            if type(position) is not int or position != len(self.trials):
                raise CheckpointError(f"{self.folder} has a trial that gpcn did not write; it cannot go on")
            try:
                trial = self._trial(frozen)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, GpcnError) as error:
                wrong = f"{error} is missing" if isinstance(error, KeyError) else error
                raise CheckpointError(
                    f"configuration {position} of the study in {self.folder} is damaged: {wrong}; start another study"
                ) from error
            if frozen.state in ends:
                trial.state = ends[frozen.state]  # type: ignore[assignment]
            self._ids[position] = frozen._trial_id
            self.trials.append(trial)

    def _trial(self, frozen: FrozenTrial) -> Trial:
        reached = frozen.intermediate_values
        score = reached[max(reached)] if reached else None
        record = decode({**frozen.user_attrs, "score": score}, TrialRecord)
        config = self.space.config(frozen.params, seed=self.seed)
        trial = Trial(record.gpcn_number, record.generation, dict(frozen.params), config, value=record.score)
        trial.metric = self.metric
        for key, stored in frozen.user_attrs.items():
            if key.startswith(EVALUATION):
                trial.outcomes[key] = checked_outcome(stored, f"its {key}")
        return trial


class TrialRecord(Struct, frozen=True):
    """What the storage keeps of a configuration beside its point and its evaluations."""

    gpcn_number: Count
    generation: Count
    score: Number | None
