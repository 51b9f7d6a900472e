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
from optuna.trial import TrialState, create_trial

from gpcn.atomic import replacing
from gpcn.errors import CheckpointError, ConfigError, GpcnError
from gpcn.training.renamed import choices_in_current_names, in_current_names
from gpcn.tuning.lease import Lease, leased
from gpcn.tuning.proposal import distributions
from gpcn.tuning.schedule import Plan, State, Trial
from gpcn.tuning.space import Space
from gpcn.tuning.storage import file_of, open_storage, place_of, sentences
from gpcn.tuning.tasks import Outcome, Task
from gpcn.types import METRICS

FORMAT = 1
ENDS = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "diverged": TrialState.FAIL}
EVALUATION = "evaluation:"


class Ledger:
    """The study in `folder`; `header` says what it is a study of."""

    def __init__(
        self, folder: Path, header: dict[str, Any], storage: BaseStorage, study: int, *, shared: bool = False
    ) -> None:
        self.folder, self.header, self._shared = folder, header, shared
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
        told = json.loads(json.dumps({"format": FORMAT, **header}))
        file = folder / "study.json"
        if file.exists():
            known = read_header(folder)
            before, now = _in_current_names(known), _in_current_names(told)
            different = [name for name in now if before.get(name) != now[name]]
            if different:
                raise ConfigError(
                    f"{folder} holds another study (its {', '.join(different)} differ); choose another --out"
                )
        storage = open_storage(folder, url)
        if not file.exists():
            with replacing(file) as stream:
                stream.write(json.dumps(told, indent=1).encode())
        return cls._begun(folder, storage, url)

    @classmethod
    def open(cls, folder: Path, url: str | None = None) -> Ledger:
        """The study that is there."""
        read_header(folder)
        return cls._begun(folder, open_storage(folder, url), url)

    @classmethod
    def _begun(cls, folder: Path, storage: BaseStorage, url: str | None) -> Ledger:
        header = read_header(folder)
        with sentences(folder, url), suppress(DuplicatedStudyError):  # it is there, perhaps since this moment
            storage.create_new_study([StudyDirection.MAXIMIZE], _name(header))
        return cls._found(folder, header, storage, url)

    @classmethod
    def read(cls, folder: Path, url: str | None = None) -> Ledger:
        """The study that is there, for who only reads: nothing is made where nothing is."""
        header = read_header(folder)
        file = folder / "study.db" if url is None else file_of(url)
        if file is not None and not file.is_file():
            raise CheckpointError(
                f"{folder} has no evaluations at {file}: it was not begun, or lives in another storage; name that with "
                "--storage"
            )
        return cls._found(folder, header, open_storage(folder, url), url)

    @classmethod
    def _found(cls, folder: Path, header: dict[str, Any], storage: BaseStorage, url: str | None) -> Ledger:
        with sentences(folder, url):
            try:
                study = storage.get_study_id_from_name(_name(header))
            except KeyError as error:
                raise CheckpointError(f"the study of {folder} is not at {place_of(folder, url)}") from error
            return cls(folder, header, storage, study, shared=url is not None)

    @property
    def metric(self) -> str:
        """What the study's graph is judged by."""
        return str(self.header["graph"]["metric"])

    @contextmanager
    def driven(self) -> Iterator[None]:
        """Keep other drivers out while this one writes.

        A file in the folder is safe behind the folder's lock; a storage that others reach needs more.
        """
        if not self._shared:
            yield
            return
        with leased(self._storage, _name(self.header)) as lease:
            self._lease = lease
            self.trials.clear()
            self._read()  # what somebody else wrote before it was ours
            try:
                yield
            finally:
                self._lease = None

    def add(self, number: int, generation: int, point: dict[str, Any]) -> Trial:
        """A new configuration."""
        self._check()
        known = distributions(self.space)
        about = {"generation": generation, "gpcn_number": number}
        frozen = create_trial(state=TrialState.RUNNING, params=point, distributions=known, user_attrs=about)
        self._ids[number] = self._storage.create_new_trial(self._study, template_trial=frozen)
        trial = Trial(number, generation, point, self.space.config(point, seed=self.seed), metric=self.metric)
        self.trials.append(trial)
        return trial

    def record(self, task: Task, outcome: Outcome) -> None:
        """What came out of `task`. A second outcome of the same task is not taken."""
        json.dumps(outcome, allow_nan=False)
        trial = self.trials[task.trial]
        if task.key in trial.outcomes:
            return
        self._check()
        self._storage.set_trial_user_attr(self._ids[task.trial], task.key, outcome)
        trial.outcomes[task.key] = outcome

    def end(self, trial: Trial, state: State, level: int, value: float | None) -> None:
        """How it ended: after which rung, and with which score."""
        if trial.state != "running":
            return
        self._check()
        identity = self._ids[trial.number]
        if value is not None:
            self._storage.set_trial_intermediate_value(identity, level, value)
        values = [value] if state == "complete" and value is not None else None
        self._storage.set_trial_state_values(identity, ENDS[state], values)
        trial.state, trial.value = state, value

    def _check(self) -> None:
        if self._lease is not None:
            self._lease.check()

    def _read(self) -> None:
        ends = {end: state for state, end in ENDS.items()}
        for frozen in self._storage.get_all_trials(self._study, deepcopy=False):
            number = frozen.user_attrs.get("gpcn_number")
            if number != len(self.trials):
                raise CheckpointError(f"{self.folder} has a trial that gpcn did not write; it cannot go on")
            config = self.space.config(frozen.params, seed=self.seed)
            generation = frozen.user_attrs["generation"]
            trial = Trial(number, generation, dict(frozen.params), config, metric=self.metric)
            trial.outcomes = {key: dict(told) for key, told in frozen.user_attrs.items() if key.startswith(EVALUATION)}
            if frozen.state in ends:
                trial.state = ends[frozen.state]  # type: ignore[assignment]
                reached = frozen.intermediate_values
                trial.value = reached[max(reached)] if reached else None
            self._ids[number] = frozen._trial_id
            self.trials.append(trial)


def _name(header: Mapping[str, Any]) -> str:
    """The study's name in its storage, which may hold others of the same graph."""
    about = {name: header[name] for name in ("space", "plan", "seed", "first")}
    about["graph"] = [header["graph"][name] for name in ("fingerprint", "metric")]
    return "gpcn-" + hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def _in_current_names(header: Mapping[str, Any]) -> dict[str, Any]:
    """A header to compare: a study that began before a setting was renamed is still the same study."""
    space = dict(header["space"])
    space["choices"] = {model: choices_in_current_names(choices) for model, choices in space["choices"].items()}
    space["fixed"] = in_current_names(space["fixed"])
    points = [choices_in_current_names({name: [value] for name, value in point.items()}) for point in header["first"]]
    return {**header, "space": space, "first": points}


def read_header(folder: Path) -> dict[str, Any]:
    """What the study in `folder` is a study of."""
    file = folder / "study.json"
    if not file.is_file():
        raise CheckpointError(f"{folder} is not a study: it has no study.json; expected a folder written by gpcn tune")
    try:
        told = json.loads(file.read_bytes())
        if told["format"] != FORMAT:
            raise CheckpointError(f"{file} has format {told['format']!r}; this gpcn reads format {FORMAT}")
        _check_header(told)
        return dict(told)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, GpcnError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{file} is damaged: {error!r}; it cannot be used") from error


def _check_header(told: dict[str, Any]) -> None:
    space, plan, about = Space.from_json(told["space"]), Plan.from_json(told["plan"]), told["graph"]
    if not space.models or any(not values for each in space.choices.values() for values in each.values()):
        raise ValueError("its space is empty")
    for model in space.models:
        space.config(space.point(model, {}))
    numbers = [plan.size, *(number for rung in plan.rungs for number in (rung.epochs, rung.keep, len(rung.splits)))]
    if not plan.rungs or not all(isinstance(number, int) and number >= 1 for number in numbers):
        raise ValueError("its plan cannot be followed")
    if not isinstance(told["seed"], int) or not isinstance(told["first"], list):
        raise ValueError("its seed or its first points are of another kind")
    if not all(isinstance(about[name], str) for name in ("name", "fingerprint", "metric")):
        raise ValueError("it does not say what graph it is about")
    if about["metric"] not in METRICS:
        raise ValueError(f"its metric {about['metric']!r} is unknown")
    if not isinstance(about.get("source"), dict | None):
        raise ValueError("it does not say where its graph came from")
