"""A study on disk, through Optuna's storage: every configuration, every evaluation once, how each ended.

One SQLite file in the study's folder, or any storage that Optuna knows. A trial appears with its whole configuration in
one transaction, an evaluation in another; all else can be worked out from these, so a kill loses what was in flight
and nothing more. One driver at a time writes (`driven`); readers come and go.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from gpcn.data.graph_record import SOURCE
from gpcn.errors import CheckpointError, ConfigError, GpcnError
from gpcn.files.schema import count, list_of, number, optional, record
from gpcn.files.sealed import FORMAT, read_sealed, write_sealed
from gpcn.tasks.metrics import metric_names
from gpcn.training.runs.folders import refuse_folder_of_other_kind, with_paths_beside
from gpcn.tuning.lease import Lease, leased_study
from gpcn.tuning.outcomes import checked_outcome, outcome_with_checksum
from gpcn.tuning.proposal import optuna_distributions
from gpcn.tuning.schedule import Plan, State, Trial
from gpcn.tuning.space import Space
from gpcn.tuning.storage import open_storage, sqlite_file, storage_errors, storage_location
from gpcn.tuning.tasks import Outcome, TrialTask

ENDS = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "diverged": TrialState.FAIL}
EVALUATION = "evaluation:"


class Ledger:
    """The study in `folder`; `header` says what it is a study of."""

    def __init__(
        self, folder: Path, header: dict[str, Any], storage: BaseStorage, study: int, *, url: str | None = None
    ) -> None:
        self.folder, self.header, self._url = folder, header, url
        self.space, self.plan, self.seed = (
            Space.from_json(header["space"]),
            Plan.from_json(header["plan"]),
            header["seed"],
        )
        self._storage, self._study = storage, study
        self._lease: Lease | None = None
        self._ids: dict[int, int] = {}
        self.trials: list[Trial] = []
        self._read()

    @classmethod
    def create(cls, folder: Path, header: Mapping[str, Any], url: str | None = None) -> Ledger:
        """A new study, or the one that is there if it is the same."""
        wanted, existing = json.loads(json.dumps({**header, "format": FORMAT})), None
        wanted["graph"]["source"] = with_paths_beside(wanted["graph"]["source"], folder)
        file = folder / "study.json"
        if file.exists():
            existing = read_study_header(folder)
            before, now = (_without_source(header) for header in (existing, wanted))
            different = [name for name in now if before.get(name) != now[name]]
            if different:
                raise ConfigError(
                    f"{folder} holds another study (its {', '.join(different)} differ); choose another --out"
                )
            wanted = existing | {
                "graph": {**existing["graph"], "source": wanted["graph"]["source"] or existing["graph"]["source"]}
            }
        refuse_folder_of_other_kind(folder, "study.json")
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
            storage.create_new_study([StudyDirection.MAXIMIZE], _name(header))
        return cls._existing(folder, header, storage, url)

    @classmethod
    def read(cls, folder: Path, url: str | None = None) -> Ledger:
        """The study that is there, for who only reads: nothing is made where nothing is."""
        header = read_study_header(folder)
        file = folder / "study.db" if url is None else sqlite_file(url)
        if file is not None and not file.is_file():
            raise CheckpointError(
                f"{folder} has no evaluations at {file}: it was not begun, or lives in another storage; name that with "
                "--storage"
            )
        return cls._existing(folder, header, open_storage(folder, url), url)

    @classmethod
    def _existing(cls, folder: Path, header: dict[str, Any], storage: BaseStorage, url: str | None) -> Ledger:
        with storage_errors(folder, url):
            try:
                study = storage.get_study_id_from_name(_name(header))
            except KeyError as error:
                raise CheckpointError(f"the study of {folder} is not at {storage_location(folder, url)}") from error
            return cls(folder, header, storage, study, url=url)

    @property
    def metric(self) -> str:
        """What the study's graph is judged by."""
        return str(self.header["graph"]["metric"])

    @contextmanager
    def driven(self) -> Iterator[None]:
        """Keep other drivers out while this one writes.

        A file in the folder is safe behind the folder's lock; a storage that others reach needs more.
        """
        if self._url is None:
            yield
            return
        with leased_study(self._storage, _name(self.header)) as lease:
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
        attributes, reached = frozen.user_attrs, frozen.intermediate_values
        count()(attributes["generation"], "its generation")
        config = self.space.config(frozen.params, seed=self.seed)
        trial = Trial(frozen.user_attrs["gpcn_number"], attributes["generation"], dict(frozen.params), config)
        trial.metric = self.metric
        for key, stored in attributes.items():
            if key.startswith(EVALUATION):
                trial.outcomes[key] = checked_outcome(stored, f"its {key}")
        trial.value = reached[max(reached)] if reached else None
        optional(number())(trial.value, "its score")
        return trial


def _name(header: Mapping[str, Any]) -> str:
    """The study's name in its storage, which may hold others of the same graph."""
    identity = {name: header[name] for name in ("space", "plan", "seed", "first")}
    identity["graph"] = [header["graph"][name] for name in ("fingerprint", "metric")]
    return "gpcn-" + hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def _without_source(header: Mapping[str, Any]) -> dict[str, Any]:
    """A header to compare: a study whose graph was moved is still the same study."""
    graph_record = {name: value for name, value in header["graph"].items() if name != "source"}
    return {**header, "graph": graph_record, "format": FORMAT}


def read_study_header(folder: Path) -> dict[str, Any]:
    """What the study in `folder` is a study of."""
    file = folder / "study.json"
    if not file.is_file():
        raise CheckpointError(f"{folder} is not a study: it has no study.json; expected a folder written by gpcn tune")
    header = read_sealed(file, record, "it cannot be used")
    try:
        _check_header(header)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, GpcnError) as error:
        wrong = f"{error} is missing" if isinstance(error, KeyError) else error
        raise CheckpointError(f"{file} is damaged: {wrong}; it cannot be used") from error
    return header


def _check_header(header: dict[str, Any]) -> None:
    space, plan, graph_record = Space.from_json(header["space"]), Plan.from_json(header["plan"]), header["graph"]
    if not space.models or any(not values for choices in space.choices.values() for values in choices.values()):
        raise ValueError("its space is empty")
    for model in space.models:
        space.config(space.point(model, {}))
    numbers = [plan.size, *(size for rung in plan.rungs for size in (rung.epochs, rung.keep, len(rung.splits)))]
    whole = all(type(size) is int and size >= 1 for size in numbers)
    if not plan.rungs or not whole or not all(type(s) is int and s >= 0 for rung in plan.rungs for s in rung.splits):
        raise ValueError("its plan cannot be followed")
    count()(header["seed"], "seed")
    list_of(record)(header["first"], "first")
    for point in header["first"]:
        space.config(point)
    if not all(isinstance(graph_record[name], str) for name in ("name", "fingerprint", "metric")):
        raise ValueError("it does not say what graph it is about")
    if graph_record["metric"] not in metric_names():
        raise ValueError(f"its metric {graph_record['metric']!r} is unknown")
    SOURCE(graph_record.get("source"), "graph.source")
