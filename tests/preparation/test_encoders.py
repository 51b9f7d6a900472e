"""What becomes of a column: against scikit-learn, against its formula, and again from its stored state."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_union
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder, StandardScaler

from gpcn import DataError
from gpcn.preparation import encoders, values
from gpcn.preparation.misfits import MisfitError
from gpcn.preparation.preparation import Preparation
from gpcn.preparation.roles import Guess, Role
from gpcn.preparation.scalar_encoders import Dates, Flags, Numbers
from gpcn.preparation.text_encoders import MOST_LEVELS, Levels, Tags, Words

PROSE = [
    "The river, the Harbour and the light.",
    "Light of the old harbour; a river runs.",
    "",
    "Über den Fluss: naïve light_house 42 42",
    "42 naïve rivers über old",
    None,
    "nothing here occurs elsewhere",
    "light in the morning",
    "the light, the light, the old light",
]


def fit(cells: Any, role: Role, scale: Any = "robust", **options: Any) -> Any:
    column = cells if isinstance(cells, pa.Array) else pa.array(cells)
    return encoders.fit_encoder("c", column, Guess(role, "", options), scale)


def encoded(encoder: Any, cells: Any) -> np.ndarray:
    column = cells if isinstance(cells, pa.Array) else pa.array(cells)
    block = encoder.encode(column, len(column))
    assert block.dtype == np.float32
    assert block.shape == (len(column), len(encoder.names))
    return block.toarray() if sp.issparse(block) else block


def test_words_are_scikit_learns_tf_idf() -> None:
    encoder = fit(PROSE, "text")
    assert isinstance(encoder, Words)
    assert {"light", "harbour", "42", "naïve", "über"} <= set(encoder.words)
    assert not {"a", "nothing", "elsewhere", "Light"} & set(encoder.words)
    reference = TfidfVectorizer(vocabulary=list(encoder.words), token_pattern=r"(?u)\b\w\w+\b")
    expected = reference.fit_transform([text or "" for text in PROSE]).toarray()
    np.testing.assert_allclose(encoded(encoder, PROSE), expected, atol=1e-6)
    np.testing.assert_allclose(encoder.idf, reference.idf_, rtol=1e-12)
    assert len(set(encoder.idf)) > 1
    assert encoder.names[0] == f"c~{encoder.words[0]}"


def test_words_of_new_texts_are_weighed_as_in_training() -> None:
    encoder = fit(PROSE, "text")
    reference = TfidfVectorizer(vocabulary=list(encoder.words), token_pattern=r"(?u)\b\w\w+\b")
    reference.fit([text or "" for text in PROSE])
    new = ["Light light unheard words", "unheard", "old OLD river"]
    np.testing.assert_allclose(encoded(encoder, new), reference.transform(new).toarray(), atol=1e-6)
    assert not encoded(encoder, new)[1].any()


def test_a_word_counts_only_where_two_texts_have_it() -> None:
    assert fit(["twice twice", "other words", "other things"], "text").words == ("other",)


def test_levels_are_scikit_learns_one_hot() -> None:
    cells = np.random.default_rng(0).choice(["red", "blue", "dark green"], 50)
    encoder = fit(cells.tolist(), "category")
    assert isinstance(encoder, Levels)
    expected = OneHotEncoder(sparse_output=False).fit(cells[:, None])
    assert encoder.levels == tuple(expected.categories_[0])
    np.testing.assert_array_equal(encoded(encoder, cells.tolist()), expected.transform(cells[:, None]))
    assert encoder.names == ["c=blue", "c=dark green", "c=red"]


def test_missing_is_a_level_and_new_levels_are_nothing() -> None:
    encoder = fit(["red", "", "blue", "n/a", None], "category")
    assert encoder.names == ["c=blue", "c=red", "c=(missing)"]
    rows = encoded(encoder, ["red", "violet", "", "?"])
    np.testing.assert_array_equal(rows, [[0, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1]])
    assert encoder.strangers(pa.array(["red", "violet", "", "amber"])) == ["amber", "violet"]


def test_rare_levels_are_joined_where_there_are_many() -> None:
    cells = [f"level {number}" for number in range(12) for _ in range(5)] + ["rare", "rarer"]
    encoder = fit(cells, "category")
    assert len(encoder.levels) == 12
    assert encoder.names[-1] == "c=(other)"
    rows = encoded(encoder, ["rare", "never seen", "level 0"])
    np.testing.assert_array_equal(rows[:, -1], [1, 1, 0])
    np.testing.assert_array_equal(rows.sum(axis=1), 1)
    assert encoder.strangers(pa.array(["never seen"])) == []


def test_there_are_never_more_than_so_many_levels() -> None:
    cells = [f"level {number:03d}" for number in range(200) for _ in range(2 + (number < 10))]
    encoder = fit(cells, "category")
    assert len(encoder.levels) == MOST_LEVELS
    assert {f"level {number:03d}" for number in range(10)} <= set(encoder.levels)
    assert encoder.other


def test_whole_numbers_as_categories_are_the_same_from_floats() -> None:
    encoder = fit(pa.array([1990, 2001, 1990]), "category")
    assert encoder.levels == ("1990", "2001")
    np.testing.assert_array_equal(encoded(encoder, pa.array([1990.0, 2001.0])), np.eye(2))


GAPS = np.array([1.0, np.nan, 3.5, -20.0, 7.0, np.nan, 1e4])


def test_standard_numbers_are_scikit_learns() -> None:
    encoder = fit(pa.array(GAPS, from_pandas=True), "number", "standard")
    imputer = SimpleImputer(strategy="median", add_indicator=True).fit(GAPS[:, None])
    imputed = imputer.transform(GAPS[:, None])
    scaler = StandardScaler().fit(imputed[:, :1])
    expected = np.concatenate([scaler.transform(imputed[:, :1]), imputed[:, 1:]], axis=1)
    np.testing.assert_allclose(encoded(encoder, pa.array(GAPS, from_pandas=True)), expected, atol=1e-6)
    assert encoder.names == ["c", "c=(missing)"]
    new = np.array([[5.0], [np.nan]])
    reference = make_union(SimpleImputer(strategy="median", add_indicator=True)).fit(GAPS[:, None]).transform(new)
    expected = np.concatenate([scaler.transform(reference[:, :1]), reference[:, 1:]], axis=1)
    np.testing.assert_allclose(encoded(encoder, pa.array([5.0, None])), expected, atol=1e-6)


def test_numbers_stay_as_they_are_without_scaling() -> None:
    encoder = fit(pa.array([1.5, 2.0, -3.0]), "number", "none")
    np.testing.assert_array_equal(encoded(encoder, pa.array([1.5, 100.0])), [[1.5], [100]])


def test_robust_numbers_follow_their_formula() -> None:
    numbers = np.random.default_rng(0).pareto(1.2, 400) * 1e3
    low, median, high = np.percentile(numbers, [25, 50, 75])
    tamed = np.arcsinh((numbers - median) / ((high - low) / 1.349))
    expected = (tamed - tamed.mean()) / tamed.std()
    rows = encoded(fit(pa.array(numbers), "number"), pa.array(numbers))[:, 0]
    np.testing.assert_allclose(rows, expected, atol=1e-5)
    assert (np.diff(rows[np.argsort(numbers)]) >= 0).all()
    assert abs(rows.mean()) < 1e-5
    assert rows.std() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("factor", [1000, 0.001])
def test_robust_numbers_do_not_depend_on_the_unit(factor: float) -> None:
    numbers = np.random.default_rng(1).lognormal(3, 2, 300)
    rows = encoded(fit(pa.array(numbers), "number"), pa.array(numbers))
    scaled = encoded(fit(pa.array(factor * numbers), "number"), pa.array(factor * numbers))
    np.testing.assert_allclose(scaled, rows, atol=1e-5)


@pytest.mark.parametrize("extreme", [1e300, -1e300, 1.7e308])
def test_robust_numbers_stay_finite(extreme: float) -> None:
    seen = encoded(fit(pa.array([1.0, 2.0, 3.0, 4.0, extreme]), "number"), pa.array([extreme, 2.0]))
    assert np.isfinite(seen).all()
    new = encoded(fit(pa.array([1.0, 2.0, 3.0, 4.0]), "number"), pa.array([extreme, 2.0]))
    assert np.isfinite(new).all()
    assert abs(new[0, 0]) > abs(new[1, 0])


def test_a_column_that_is_mostly_one_number_is_still_scaled() -> None:
    encoder = fit(pa.array([0.0] * 20 + [5.0, 9.0]), "number")
    rows = encoded(encoder, pa.array([0.0, 5.0, 9.0]))[:, 0]
    assert encoder.spread > 0
    assert rows[0] < rows[1] < rows[2]


def test_flags_are_0_and_1_in_every_spelling() -> None:
    encoder = fit(["yes", "No", "", "y"], "boolean")
    assert isinstance(encoder, Flags)
    np.testing.assert_array_equal(encoded(encoder, ["yes", "No", "", "TRUE"]), [[1, 0], [0, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(encoded(encoder, pa.array([True, False, None])), [[1, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(encoded(encoder, pa.array([1, 0, None])), [[1, 0], [0, 0], [0, 1]])


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_every_kind_of_text_in_arrow_is_read_alike(kind: pa.DataType) -> None:
    from gpcn.preparation.roles import guess_role

    for cells in (["yes", "no", "yes"], ["a;b", "b;a", "a"], ["1.5", "n/a", "2"], ["2024-05-31", "", "2024-06-02"]):
        plain = pa.array(cells)
        other = plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain.cast(kind)
        assert guess_role("c", other) == guess_role("c", plain)
        one, two = (Preparation.fit({"c": column}, declared={}) for column in (plain, other))
        assert one.feature_names == two.feature_names
        first, second = one.transform({"c": plain}, 3)[0], one.transform({"c": other}, 3)[0]
        np.testing.assert_array_equal(sp.csr_array(first).toarray(), sp.csr_array(second).toarray())


def test_tags_are_scikit_learns_multi_hot() -> None:
    lists = [["red", "blue"], ["blue", "blue", "green"], [], ["green", "red"], ["once"]]
    binarizer = MultiLabelBinarizer(classes=["blue", "green", "red"])
    expected = binarizer.fit_transform([[tag for tag in tags if tag != "once"] for tags in lists])
    forms = {
        ";": [" ; ".join(tags) for tags in lists],
        "|": ["|".join(tags) for tags in lists],
        "json": [json.dumps(tags) for tags in lists],
        None: lists,
    }
    for separator, cells in forms.items():
        encoder = fit(pa.array(cells), "tags", separator=separator)
        assert isinstance(encoder, Tags)
        assert encoder.names == ["c:blue", "c:green", "c:red"]
        np.testing.assert_array_equal(encoded(encoder, pa.array(cells)), expected)


def test_new_tags_are_ignored() -> None:
    encoder = fit(["a;b", "b;a", "a"], "tags", separator=";")
    np.testing.assert_array_equal(encoded(encoder, ["padel;b", "padel", ""]), [[0, 1], [0, 0], [0, 0]])


def test_dates_fall_on_circles() -> None:
    cells = ["2024-03-04 06:00", "2024-06-09 18:00", "", "2024-12-31 00:00"]
    encoder = fit(cells, "date")
    assert isinstance(encoder, Dates)
    assert encoder.names == [
        *("c (days)", "c (days)=(missing)", "c (month sin)", "c (month cos)"),
        *("c (weekday sin)", "c (weekday cos)", "c (hour sin)", "c (hour cos)"),
    ]
    rows = encoded(encoder, cells)
    np.testing.assert_allclose(rows[0, 2:], [1, 0, 0, 1, 1, 0], atol=1e-6)  # March, a Monday, six in the morning
    sunday = 2 * np.pi * 6 / 7
    np.testing.assert_allclose(rows[1, 2:], [0, -1, np.sin(sunday), np.cos(sunday), -1, 0], atol=1e-6)
    np.testing.assert_array_equal(rows[2, 1:], [1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(rows[3, 2:4], [0, 1], atol=1e-6)
    assert rows[0, 0] < rows[1, 0] < rows[3, 0]


def test_elapsed_days_are_scaled_like_numbers() -> None:
    cells = [f"2024-{month:02d}-01" for month in range(1, 13)]
    days = np.array(cells, dtype="datetime64[D]").astype(np.float64)
    expected = fit(pa.array(days), "number", "standard").encode_numbers(days)
    np.testing.assert_allclose(encoded(fit(cells, "date", "standard"), cells)[:, :1], expected, atol=1e-6)


def test_the_hour_counts_only_where_there_are_hours() -> None:
    encoder = fit(["2024-03-04", "2024-06-09"], "date")
    assert encoder.parts == ("month", "weekday")
    assert encoded(encoder, pa.array(["2024-03-04 06:00", "2024-06-09 07:00"])).shape == (2, 5)


def test_dates_are_the_same_in_another_format() -> None:
    encoder = fit(["2024-03-04", "2024-06-09"], "date")
    days = np.array(["2024-03-04", "2024-06-09"], dtype="datetime64[D]")
    expected = encoded(encoder, ["2024-03-04", "2024-06-09"])
    np.testing.assert_array_equal(encoded(encoder, pa.array(days)), expected)
    np.testing.assert_array_equal(encoded(encoder, ["04.03.2024", "09.06.2024"]), expected)


def test_the_order_of_day_and_month_is_that_of_training() -> None:
    encoder = fit(["03/04/2024", "31/05/2024"], "date")
    expected = encoded(encoder, ["2024-06-09", "2024-02-01"])
    np.testing.assert_array_equal(encoded(encoder, ["09/06/2024", "01/02/2024"]), expected)
    np.testing.assert_array_equal(encoded(encoder, ["09/06/24", "01/02/24"]), expected)
    for turned in (["05/31/2024", "01/02/2024"], ["05/31/24", "01/02/24"]):
        with pytest.raises(MisfitError, match="a date like those before") as caught:
            encoded(encoder, turned)
        assert caught.value.row == 0


def test_dates_of_which_two_orders_fit_do_not_follow_other_formats() -> None:
    with pytest.raises(MisfitError, match="a date like those before") as caught:
        encoded(fit(["2024-03-04", "2024-06-09"], "date"), ["", "03/04/2024", "06/09/2024"])
    assert (caught.value.row, caught.value.cell) == (1, "03/04/2024")


def test_that_two_orders_fit_is_said_and_kept() -> None:
    table = {"opened": pa.array(["03/04/2024", "06/09/2024"])}
    fitted = Preparation.fit(table, declared={})
    assert "read as %d/%m/%Y, though %m/%d/%Y fits too" in fitted.describe()[0].encoded
    assert restored(fitted) == fitted
    settled = Preparation.fit({"opened": pa.array(["03/04/2024", "31/09/2024", "30/09/2024"][::2])}, declared={})
    assert settled.describe()[0].encoded.endswith("read as %d/%m/%Y")


def test_strange_years_of_new_tables_are_refused_unless_the_user_said_date() -> None:
    usual, odd = {"opened": pa.array(["2023-03-04", "2024-06-09"])}, {"opened": pa.array(["2024-06-09", "9999-12-31"])}
    with pytest.raises(MisfitError, match="a date in the years 1900 to 2100") as caught:
        Preparation.fit(usual, declared={}).transform(odd, 2)
    assert (caught.value.row, caught.value.cell, caught.value.column) == (1, "9999-12-31", "opened")
    assert np.isfinite(Preparation.fit(usual, declared={"opened": "date"}).transform(odd, 2)[0]).all()


def test_dates_before_1970_and_far_ahead_are_finite_and_in_order() -> None:
    encoder = fit(["1905-03-04", "2024-06-09"], "date")
    rows = encoded(encoder, ["1899-12-31", "2199-01-01"])
    assert np.isfinite(rows).all()
    assert rows[0, 0] < rows[1, 0]


def messy(rows: int = 60) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    days = np.datetime64("2020-01-01", "D") + rng.integers(0, 900, rows)
    income = np.where(rng.random(rows) < 0.1, np.nan, rng.lognormal(8, 1.5, rows))
    return {
        "income": pa.array(income, from_pandas=True),
        "member": pa.array(rng.choice(["yes", "no", ""], rows).tolist()),
        "opened": pa.array([str(day) for day in days]),
        "country": pa.array(rng.choice(["DE", "FR", "IT", ""], rows).tolist()),
        "likes": pa.array([";".join(rng.choice(["chess", "tea", "jazz"], 2)) for _ in range(rows)]),
        "bio": pa.array(
            [" ".join(rng.choice("many old rivers run under quiet light".split(), 6)) for _ in range(rows)]
        ),
        "code": pa.array([f"R{number:03d}" for number in range(rows)]),
        "version": pa.array(["2.1b"] * rows),
    }


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix


def restored(preparation: Preparation) -> Preparation:
    return Preparation.from_json(json.loads(json.dumps(preparation.to_json())), "here")


def test_every_role_of_a_messy_table_is_guessed() -> None:
    roles = {column.name: column.role for column in Preparation.fit(messy(), declared={}).columns}
    assert list(roles.values()) == ["number", "boolean", "date", "category", "tags", "text", "id", "constant"]


@pytest.mark.parametrize("scale", ["robust", "standard", "none"])
def test_the_state_survives_json_bit_for_bit(scale: Any) -> None:
    table = messy()
    fitted = Preparation.fit(table, declared={}, scale=scale, reading={"id": "who", "features": ("income",)})
    again = restored(fitted)
    one, two = fitted.transform(table, 60), again.transform(table, 60)
    assert dense(one[0]).tobytes() == dense(two[0]).tobytes()
    assert one[1] == two[1] == []
    assert again.feature_names == fitted.feature_names
    assert dense(one[0]).shape == (60, len(fitted.feature_names))
    assert json.dumps(again.to_json()) == json.dumps(fitted.to_json())


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_any_numbers_survive_json_bit_for_bit(numbers: list[float | None]) -> None:
    table = {"x": pa.array(numbers, pa.float64())}
    fitted = Preparation.fit(table, declared={"x": "number"})
    one, two = fitted.transform(table, len(numbers))[0], restored(fitted).transform(table, len(numbers))[0]
    assert dense(one).tobytes() == dense(two).tobytes()
    assert np.isfinite(dense(one)).all()


@given(st.lists(st.text(max_size=20), min_size=1, max_size=30), st.sampled_from(["category", "text", "tags"]))
@settings(max_examples=60, deadline=None)
def test_any_texts_survive_json_bit_for_bit(cells: list[str], role: Any) -> None:
    cells = [cell.encode("utf-8", "ignore").decode() for cell in cells]
    table = {"x": pa.array(cells, pa.string())}
    fitted = Preparation.fit(table, declared={"x": role})
    one, two = fitted.transform(table, len(cells))[0], restored(fitted).transform(table, len(cells))[0]
    assert dense(one).tobytes() == dense(two).tobytes()


def test_another_order_of_columns_changes_nothing() -> None:
    table = messy()
    fitted = Preparation.fit(table, declared={})
    turned = dict(reversed(table.items()))
    np.testing.assert_array_equal(dense(fitted.transform(turned, 60)[0]), dense(fitted.transform(table, 60)[0]))


def test_a_column_that_is_gone_counts_as_missing_and_is_named() -> None:
    table = messy()
    fitted = Preparation.fit(table, declared={})
    without = {name: column for name, column in table.items() if name not in ("income", "country", "bio")}
    matrix, notes = fitted.transform(without, 60)
    assert [note.split("'")[1] for note in notes] == ["income", "country", "bio"]
    assert notes[0] == "column 'income' is not in this table; it counts as missing for all nodes"
    columns = dict(zip(fitted.feature_names, dense(matrix).T, strict=True))
    assert (columns["income=(missing)"] == 1).all()
    assert (columns["income"] == columns["income"][0]).all()
    assert (columns["country=(missing)"] == 1).all()
    assert (columns["country=DE"] == 0).all()
    assert not any(columns[name].any() for name in columns if name.startswith("bio~"))
    assert fitted.transform({name: table[name] for name in table if name not in ("code", "version")}, 60)[1] == []


def test_new_values_are_finite_and_new_levels_and_columns_are_noted() -> None:
    fitted = Preparation.fit(messy(), declared={})
    table = messy() | {
        "income": pa.array([1e300] * 60),
        "opened": pa.array(["2099-01-01"] * 60),
        "country": pa.array(["BR", "AR"] * 30),
        "likes": pa.array(["padel"] * 60),
        "height": pa.array([1.8] * 60),
    }
    matrix, notes = fitted.transform(table, 60)
    assert np.isfinite(dense(matrix)).all()
    assert notes == [
        "column 'country' has 2 level(s) that were not there in training, such as 'AR'",
        "1 column(s) that were not there in training were left out, such as 'height'",
    ]


@pytest.mark.parametrize(
    ("name", "cells", "cell"),
    [
        ("income", ["12.5"] * 59 + ["lots"], "lots"),
        ("opened", ["2024-05-31"] * 59 + ["soon"], "soon"),
        ("member", ["yes"] * 59 + ["maybe"], "maybe"),
    ],
)
def test_a_cell_that_cannot_be_read_any_more_is_refused(name: str, cells: list[str], cell: str) -> None:
    table = messy()
    fitted = Preparation.fit(table, declared={})
    with pytest.raises(MisfitError, match=repr(cell)) as caught:
        fitted.transform(table | {name: pa.array(cells)}, 60)
    assert (caught.value.column, caught.value.cell) == (name, cell)
    assert caught.value.row == 59


def test_an_empty_table_has_no_features() -> None:
    fitted = Preparation.fit({"version": pa.array(["a", "a"])}, declared={})
    assert fitted.transform({}, 2)[0].shape == (2, 0)
    assert fitted.feature_names == []


def column_of(payload: dict[str, Any], name: str) -> dict[str, Any]:
    return next(column for column in payload["columns"] if column["name"] == name)


DAMAGE: dict[str, Any] = {
    "no object": lambda payload: [],
    "nothing": lambda payload: None,
    "another format": lambda payload: payload | {"format": 2},
    "no columns": lambda payload: {key: payload[key] for key in ("format", "reading")},
    "columns are a number": lambda payload: payload | {"columns": 3},
    "a column is a text": lambda payload: payload | {"columns": ["income"]},
    "no reading": lambda payload: {key: payload[key] for key in ("format", "columns")},
    "reading is a number": lambda payload: payload | {"reading": 5},
    "an unknown role": lambda payload: column_of(payload, "income").update(role="colour"),
    "a role that is a list": lambda payload: column_of(payload, "income").update(role=["number"]),
    "a role without an encoder": lambda payload: column_of(payload, "income").update(role="id"),
    "another role": lambda payload: column_of(payload, "income").update(role="text"),
    "a name that is a number": lambda payload: column_of(payload, "income").update(name=7),
    "a lacking key": lambda payload: column_of(payload, "income")["state"].pop("median"),
    "a key too many": lambda payload: column_of(payload, "income")["state"].update(colour=1),
    "a state that is a list": lambda payload: column_of(payload, "income").update(state=[1]),
    "a median that is a text": lambda payload: column_of(payload, "income")["state"].update(median="high"),
    "a median that is nothing": lambda payload: column_of(payload, "income")["state"].update(median=None),
    "a scale nobody knows": lambda payload: column_of(payload, "income")["state"].update(scale="log"),
    "a spread of nothing": lambda payload: column_of(payload, "income")["state"].update(spread=0.0),
    "a deviation that is no number": lambda payload: column_of(payload, "income")["state"].update(std=float("nan")),
    "levels that are a text": lambda payload: column_of(payload, "country")["state"].update(levels="DE"),
    "levels that are numbers": lambda payload: column_of(payload, "country")["state"].update(levels=[1, 2]),
    "tags that are nothing": lambda payload: column_of(payload, "likes")["state"].update(tags=None),
    "a separator that is a number": lambda payload: column_of(payload, "likes")["state"].update(separator=5),
    "fewer weights than words": lambda payload: column_of(payload, "bio")["state"]["idf"].pop(),
    "weights that are texts": lambda payload: column_of(payload, "bio")["state"].update(
        idf=["a"] * len(column_of(payload, "bio")["state"]["words"])
    ),
    "a part nobody knows": lambda payload: column_of(payload, "opened")["state"].update(parts=["minute"]),
    "days that are a number": lambda payload: column_of(payload, "opened")["state"].update(days=3),
    "a share that is a text": lambda payload: column_of(payload, "income").update(missing="half"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_preparation_is_refused_in_one_sentence(case: str) -> None:
    payload = json.loads(json.dumps(Preparation.fit(messy(), declared={}).to_json()))
    damaged = copy.deepcopy(payload)
    answer = DAMAGE[case](damaged)
    if case.startswith(("no ", "nothing", "another format", "columns", "a column is", "reading")):
        damaged = answer
    with pytest.raises(DataError, match=r"^run/config.json: how its columns were prepared cannot be read \(") as caught:
        Preparation.from_json(damaged, "run/config.json")
    assert "\n" not in str(caught.value)
    assert Preparation.from_json(payload, "run/config.json").feature_names


def test_numbers_of_a_column_are_nan_where_missing() -> None:
    np.testing.assert_array_equal(values.column_numbers(pa.array(["1", "", "NA", "2.5"])), [1, np.nan, np.nan, 2.5])
    assert values.column_numbers(pa.array(["1", "x"])) is None
    assert Numbers.fit("c", np.array([np.nan]), "robust").median == 0
