"""`gpcn reproduce`: the paper's tables and ablations, measured here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcn.cli.shared.options import Json
from gpcn.cli.shared.output import console, escaped, number_text, plain_table, print_json
from gpcn.cli.shared.training_options import Jobs, SplitNumbers, read_splits
from gpcn.core.errors import ConfigError, near_matches

if TYPE_CHECKING:
    from gpcn.paper.rows import Row

TABLES = ("table-1", "table-2", "table-3", "table-4")
TARGETS = (*TABLES, "figure-1", "figure-2", "variants", "learned", "theory", "operators", "all", "recipes")


def reproduce(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=f"One of {', '.join(TARGETS)}.")],
    datasets: Annotated[
        str | None, typer.Option("--datasets", metavar="A,B,…", help="Only these (default: all of the table).")
    ] = None,
    models: Annotated[
        str | None, typer.Option("--models", metavar="A,B,…", help="Only these (default: all of the table).")
    ] = None,
    splits: SplitNumbers = None,
    recipes: Annotated[
        str | None,
        typer.Option(
            "--recipes",
            metavar="paper|ours",
            help="As the paper prints, or as we found on validation nodes (tables: both; figures: the better).",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for what was evaluated; run again to go on.")] = Path(
        "reproduction"
    ),
    results: Annotated[
        Path | None, typer.Option("--results", help="Folder for tables and figures (default: OUT/results).")
    ] = None,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Measure the paper's tables and ablations again, beside the paper's own numbers.

    Stop it at any time; the same command goes on. [bold]variants[/bold] varies what the paper leaves open,
    [bold]learned[/bold] lists the mix μ and the coefficients θ that training arrives at, [bold]theory[/bold] puts the
    bound beside the measured gap, [bold]operators[/bold] goes beyond the paper (banks of operators, blocks, trees, deep
    networks), [bold]recipes[/bold] searches settings on validation nodes alone.

    Example: [bold]gpcn reproduce table-2 --datasets texas,cornell --models gpcn,agpcn[/bold]
    """
    from gpcn.cli.shared.progress import counting_progress
    from gpcn.paper.evaluations import Evaluations

    if what not in TARGETS:
        raise ConfigError(f"there is nothing called {what!r} to reproduce; {near_matches(what, TARGETS)}")
    folder = results if results is not None else out / "results"
    numbers = read_splits(splits)
    with Evaluations(out, jobs) as evaluations, counting_progress(what) as progress:
        options: dict[str, Any] = {"evaluations": evaluations, "progress": progress}
        if what == "recipes":
            document = _recipes(datasets, models, folder, options)
        else:
            document = _measure(what, datasets, models, recipes, numbers, folder, options)
    if json:
        print_json(document)
    else:
        _show(document, folder)


def _recipes(datasets: str | None, models: str | None, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    from gpcn.paper.measurements import operators
    from gpcn.paper.measurements.reproduction import choose_names
    from gpcn.paper.reference.published import DATASETS, METHODS
    from gpcn.paper.searches.recipe_search import find_all_recipes

    graphs = tuple(dict.fromkeys((*DATASETS, *operators.DATASETS)))
    methods = tuple(dict.fromkeys((*METHODS, *operators.METHODS)))
    chosen = (
        DATASETS if datasets is None else choose_names(datasets, graphs, "dataset"),
        METHODS if models is None else choose_names(models, methods, "model"),
    )
    return {"recipes": find_all_recipes(*chosen, folder / "recipes.json", **options)}


def _measure(
    what: str,
    datasets: str | None,
    models: str | None,
    recipes: str | None,
    splits: list[int] | None,
    folder: Path,
    options: dict[str, Any],
) -> dict[str, Any]:
    from gpcn.paper.measurements import ablation, complexity, learned, operators, theory
    from gpcn.paper.measurements.reproduction import choose_names, measure, recipe_cells
    from gpcn.paper.reference import published
    from gpcn.paper.reference.recipes import ORIGINS
    from gpcn.paper.results_page.page import save_page

    if recipes is not None and recipes not in ORIGINS:
        raise ConfigError(f"--recipes is {recipes!r}; expected paper or ours")
    origin: Any = recipes
    wanted = published.Table("all", "all", published.DATASETS) if what == "all" else published.TABLES.get(what)
    document: dict[str, Any] = {"rows": [], "ablation": []}
    if wanted is not None:
        chosen = choose_names(datasets, wanted.datasets, "dataset"), choose_names(models, wanted.methods, "model")
        measured = measure(recipe_cells(*chosen, ORIGINS if origin is None else (origin,)), splits=splits, **options)
        measured.save(folder)
        document["rows"] = measured.table
    if what == "operators":
        chosen = choose_names(datasets, operators.DATASETS, "dataset"), choose_names(models, operators.METHODS, "model")
        measured = measure(operators.trained_cells(*chosen), splits=splits, **options)
        operators.save(measured, folder)
        document["rows"] = measured.table
    studies = ablation.studies(what)
    if studies:
        strict = what != "all"
        among = choose_names(datasets, [study.dataset for study in studies], "dataset", strict=strict)
        for study in filter(lambda study: study.dataset in among, studies):
            points = ablation.points(study, choose_names(models, study.methods, "model", strict=strict), origin)
            rows = ablation.measure(study, points, splits=splits or ablation.SPLITS, **options)
            ablation.save(study, rows, folder)
            document["ablation"] += rows
    if what in ("learned", "all"):
        strict = what != "all"
        chosen = (
            choose_names(datasets, published.DATASETS, "dataset", strict=strict),
            choose_names(models, learned.METHODS, "model", strict=strict),
        )
        document["learned"] = learned.measure(*chosen, splits=splits or learned.SPLITS, **options)
        learned.save(document["learned"], folder)
    if what in ("theory", "all"):
        measurable = tuple(dict.fromkeys((*theory.DATASETS, *complexity.DATASETS)))
        among = choose_names(datasets, measurable, "dataset", strict=what != "all")
        gaps = [name for name in among if name in theory.DATASETS]
        document["theory"] = theory.measure(gaps, splits=splits or theory.SPLITS, **options)
        theory.save(document["theory"], folder)
        document["complexity"] = complexity.measure([name for name in among if name in complexity.DATASETS], **options)
        complexity.save(document["complexity"], folder)
    save_page(folder)
    return document


def _show(document: dict[str, Any], folder: Path) -> None:
    to = console()
    for kind, shown in (
        ("rows", _show_rows),
        ("ablation", _show_ablation),
        ("learned", _show_learned),
        ("theory", _show_theory),
        ("complexity", _show_complexity),
        ("recipes", _show_recipes),
    ):
        if document.get(kind):
            to.print(shown(document[kind]), highlight=False)
    to.print(f"kept in {escaped(folder)}", highlight=False)


def _show_rows(rows: list[Row]) -> Any:
    shown = plain_table("dataset", "method", "recipe", "test", "paper", "difference", "note", numeric=("test", "paper"))
    for row in rows:
        against = None if row["paper_mean"] is None or row.get("mean") is None else row["mean"] - row["paper_mean"]
        shown.add_row(
            row["dataset"],
            row["method"],
            row["recipe"] + ("" if not row["chosen"] else " ✓"),
            _pair(row.get("mean"), row.get("std")),
            _pair(row["paper_mean"], row["paper_std"]),
            "" if against is None else f"{against:+.2f}",
            escaped(row.get("status") or _verdict(against, row["paper_std"])),
        )
    shown.caption = "✓ the recipe with the better validation score; mean ± std over splits, test nodes, percent"
    return shown


def _verdict(against: float | None, deviation: float | None) -> str:
    if against is None or deviation is None:
        return "not in the paper"
    if against >= 0:
        return "at or above the paper"
    return "within one std below" if against >= -deviation else "below the paper"


def _show_ablation(rows: list[Row]) -> Any:
    shown = plain_table("dataset", "method", "setting", "value", "test", "note", numeric=("value", "test"))
    for row in rows:
        pair = _pair(row["mean"], row["std"])
        shown.add_row(row["dataset"], row["method"], row["setting"], str(row["value"]), pair, escaped(row["status"]))
    return shown


def _show_learned(rows: list[Row]) -> Any:
    shown = plain_table("dataset", "method", "recipe", "μ start", "μ", "θ", numeric=("μ start", "μ"))
    for row in rows:
        mix = [number_text(row.get(name), 3) for name in ("mu_start", "mu")]
        shown.add_row(
            row["dataset"], row["method"], row["recipe"], *mix, escaped(row.get("status") or row.get("theta", ""))
        )
    return shown


def _show_theory(rows: list[Row]) -> Any:
    numeric = ("L", "γ", "μ", "bound", "train", "test", "gap", "energy")
    shown = plain_table("dataset", "model", *numeric[:4], "largest term", *numeric[4:], numeric=numeric)
    for row in rows:
        setting = [row["dataset"], row["model"], *(f"{row[name]:g}" for name in ("layers", "gamma", "mu"))]
        if row.get("corrected") is None:
            shown.add_row(*setting, "–", escaped(row["status"]))
            continue
        values = [f"{row['corrected']:.3g}", row["corrected_dominant"]]
        values += [f"{row[name]:.1f}" for name in ("train", "test", "gap")]
        shown.add_row(*setting, *values, f"{row['energy_last']:.3f}")
    return shown


def _show_complexity(rows: list[Row]) -> Any:
    numeric = ("reached", "corrected bound", "printed bound")
    shown = plain_table("dataset", "model", *numeric, numeric=numeric)
    for row in rows:
        values = row["status"] or (f"{row['reached']:.3g}", f"{row['corrected']:.3g}", f"{row['printed']:.3g}")
        shown.add_row(row["dataset"], row["model"], *((escaped(values),) if isinstance(values, str) else values))
    return shown


def _show_recipes(rows: list[Row]) -> Any:
    shown = plain_table("dataset", "method", "recipe", "validation", "settings", numeric=("validation",))
    for row in rows:
        settings = " ".join(f"{name}={value}" for name, value in row["settings"].items()) or row["how"]
        shown.add_row(row["dataset"], row["model"], row["origin"], number_text(row["validation"], 2), escaped(settings))
    return shown


def _pair(mean: float | None, std: float | None) -> str:
    return "–" if mean is None else f"{number_text(mean, 2)} ± {number_text(std, 2)}"
