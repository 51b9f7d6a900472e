"""What a column is taken for, and what is said when it is not what the user says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpcn import Columns, ConfigError, DataError
from gpcn.preparation import date_texts, roles, values
from gpcn.preparation.preparation import Preparation
from gpcn.preparation.roles import MisfitError
from gpcn.records.reading import encode

WORDS = "the river of light runs under many old bridges before it reaches our small quiet harbour".split()
RNG = np.random.default_rng(0)


def sentence(words: int) -> str:
    return " ".join(RNG.choice(WORDS, words))


def texts(*cells: str | None) -> pa.Array:
    return pa.array(cells, pa.string())


def role(cells: Any, name: str = "column") -> str:
    return roles.guess_role(name, cells if isinstance(cells, pa.Array) else pa.array(cells)).role


NUMBERS = {
    "floats": ([1.5, 2.0, -3.25], "number"),
    "whole numbers": ([10, 25, 31, 10], "number"),
    "negative whole numbers": ([-5, 0, 0, 0, 0, 0, 0], "number"),
    "numbers written as text": (texts("1", "2.5", "-3e2"), "number"),
    "missing words among numbers": (texts("1", "n/a", "?", "2.5", "", "None"), "number"),
    "flags of 0 and 1": ([0, 1, 1, 0], "boolean"),
    "flags of 0 and 1 with gaps": ([0, None, 1], "boolean"),
    "booleans": ([True, False, None], "boolean"),
    "yes and no": (texts("yes", "No", "YES", ""), "boolean"),
    "y, n and a missing word": (texts("y", "n", "n/a"), "boolean"),
    "true and false as text": (texts("true", "false", "-"), "boolean"),
    "small counts": ([0] * 20 + [3, 1], "count"),
    "all alike": ([7, 7, 7], "constant"),
    "all alike but for gaps": ([7, 7, None], "number"),
    "only true": ([True, True], "constant"),
    "nothing at all": (pa.nulls(4), "constant"),
    "nothing, as floats": (pa.array([None, None], pa.float64()), "constant"),
    "row numbers": (list(range(100)), "id"),
    "row numbers from 1000": (list(range(1000, 1100)), "id"),
    "few row numbers": ([1, 2, 3], "number"),
    "row numbers with a gap": ([*range(50), None], "number"),
    "row numbers out of order": (list(range(100))[::-1], "number"),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_the_role_of_a_column_of_numbers_is_guessed(case: str) -> None:
    cells, expected = NUMBERS[case]
    assert role(cells) == expected


@pytest.mark.parametrize("name", ["id", "customer_id", "Row", "api-key", "account ID", "uuid"])
def test_different_numbers_in_a_column_named_like_an_id_are_one(name: str) -> None:
    cells = RNG.permutation(1000)[:200].tolist()
    assert role(cells, name) == "id"
    assert role(cells, "amount") == "number"
    assert role([*cells, cells[0]], name) == "number"


@pytest.mark.parametrize("name", ["paid", "keynote", "arrow", "idea"])
def test_names_that_only_contain_the_letters_of_id_are_no_ids(name: str) -> None:
    assert role(RNG.permutation(1000)[:200].tolist(), name) == "number"


DATES = {
    "%Y-%m-%d": ["2024-05-31", "2023-01-02"],
    "%Y/%m/%d": ["2024/05/31", "2023/01/02"],
    "%d.%m.%Y": ["31.05.2024", "02.01.2023"],
    "%d.%m.%y": ["31.05.24", "02.01.23"],
    "%d/%m/%Y": ["31/05/2024", "02/01/2023"],
    "%d/%m/%y": ["31/05/24", "02/01/23"],
    "%m/%d/%Y": ["05/31/2024", "01/02/2023"],
    "%m/%d/%y": ["05/31/24", "01/02/23"],
    "%d %b %Y": ["31 May 2024", "02 Jan 2023"],
    "%b %d, %Y": ["May 31, 2024", "Jan 02, 2023"],
}
TIMES = ["", " 14:20", "T14:20:01", " 14:20:01.5", "T14:20:01Z", " 16:20:01+02:00", " 14:20:01.123456789 +0000"]


@pytest.mark.parametrize("format", DATES)
def test_dates_are_read_as_people_write_them(format: str) -> None:
    guess = roles.guess_role("when", texts(*DATES[format], "", "n/a"))
    assert (guess.role, guess.options["format"]) == ("date", format)
    assert roles.declared_role("date", texts(*DATES[format])).options["format"] == format


@pytest.mark.parametrize("format", DATES)
def test_some_dates_of_a_column_may_have_a_time_of_day(format: str) -> None:
    cells = [f"{DATES[format][0]}{time}" for time in TIMES]
    seconds, found = values.column_times(texts(*cells)) or (np.zeros(0), "")
    assert found == format
    day, minute = datetime(2024, 5, 31, tzinfo=UTC).timestamp(), 14 * 3600 + 20 * 60
    assert seconds - day == pytest.approx([0, minute, *(minute + 1 + more for more in (0, 0.5, 0, 0, 0.123456789))])


@settings(max_examples=200, deadline=None)
@given(
    moments=st.lists(st.datetimes(datetime(1900, 1, 1), datetime(2100, 12, 31)), min_size=1, max_size=8),
    format=st.sampled_from(date_texts.FORMATS),
    time=st.sampled_from(["", " %H:%M", " %H:%M:%S", "T%H:%M:%S.%f"]),
)
def test_dates_are_those_of_the_standard_library(moments: list[datetime], format: str, time: str) -> None:
    if "%y" in format:
        moments = [
            moment.replace(year=1969 + (moment.year - 1969) % 100, day=min(moment.day, 28)) for moment in moments
        ]
    cells = [moment.strftime(format + time) for moment in moments]
    expected = [datetime.strptime(cell, format + time).replace(tzinfo=UTC).timestamp() for cell in cells]
    seconds, found = values.column_times(texts(*cells), format) or (np.zeros(0), "")
    assert (found, seconds.tolist()) == (format, pytest.approx(expected, abs=1e-6))


@settings(max_examples=200, deadline=None)
@given(
    moment=st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.timezones() | st.just(UTC)),
    separator=st.sampled_from(" T"),
)
def test_iso_dates_with_zones_are_those_of_the_standard_library(moment: datetime, separator: str) -> None:
    written = moment.isoformat(separator)
    if (moment.utcoffset() or timedelta()).total_seconds() % 60:
        return  # zones of long ago, to the second
    seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    for cells in ((written,), (written, "2024-05-31")):  # Arrow reads the first, we the second
        read = values.column_times(texts(*cells))
        assert read is not None
        assert read[0][0] == pytest.approx(seconds, abs=1e-5)


@settings(max_examples=300, deadline=None)
@given(
    first=st.integers(0, 40),
    second=st.integers(0, 40),
    year=st.integers(1, 9999),
    format=st.sampled_from(["%d/%m/%Y", "%Y-%m-%d"]),
)
def test_only_days_that_exist_are_dates(first: int, second: int, year: int, format: str) -> None:
    cell = f"{first:02d}/{second:02d}/{year:04d}" if format == "%d/%m/%Y" else f"{year:04d}-{second:02d}-{first:02d}"
    try:
        expected = datetime.strptime(cell, format).replace(tzinfo=UTC).timestamp()
    except ValueError:
        assert values.column_times(texts(cell), format) is None
    else:
        assert values.column_times(texts(cell), format) == (pytest.approx([expected]), format)


def test_years_of_two_digits_are_those_of_posix() -> None:
    seconds, format = values.column_times(texts("31/12/23", "01/02/68", "01/02/69", None)) or (np.zeros(0), "")
    assert format == "%d/%m/%y"
    assert seconds[:3].astype("datetime64[s]").astype(str).tolist() == [
        *("2023-12-31T00:00:00", "2068-02-01T00:00:00", "1969-02-01T00:00:00")
    ]


NO_DATES = {
    "a day that does not exist": (["31/01/2023", "", "31/02/2023"], 2, "31/02/2023", "a day that exists"),
    "no leap year": (["2023-03-01", "2023-02-29", "2024-02-29"], 1, "2023-02-29", "a day that exists"),
    "a month that does not exist": (["2023-03-01", "2023-13-01", "2024-02-29"], 1, "2023-13-01", "a day that exists"),
    "a date that is long over": (["2023-03-01", "0023-03-01"], 1, "0023-03-01", "in the years 1900 to 2100"),
    "a date for ever": (["2023-03-01 10:00", "9999-12-31"], 1, "9999-12-31", "in the years 1900 to 2100"),
    "one that Arrow knows": ([date(2023, 3, 1), date(1899, 12, 31)], 1, "1899-12-31", "in the years 1900 to 2100"),
}


@pytest.mark.parametrize("case", NO_DATES)
def test_days_that_do_not_exist_and_strange_years_are_refused(case: str) -> None:
    cells, row, cell, expected = NO_DATES[case]
    with pytest.raises(MisfitError, match=expected) as caught:
        roles.guess_role("column", pa.array(cells))
    assert (caught.value.row, caught.value.cell) == (row, cell)


@pytest.mark.parametrize("cells", [["1650-01-02", "1705-03-04"], [date(1650, 1, 2), date(1705, 3, 4)]])
def test_old_dates_are_read_where_the_user_says_date(cells: list[Any]) -> None:
    fitted = Preparation.fit({"made": pa.array(cells)}, declared={"made": "date"})
    features, _ = fitted.transform({"made": pa.array(cells)}, 2)
    assert np.isfinite(features).all()
    assert features[0, 0] < features[1, 0]


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("us"), pa.date64()])
@pytest.mark.parametrize("declared", [{}, {"when": "date"}])
def test_dates_of_arrow_beyond_any_calendar_are_refused(kind: Any, declared: Any) -> None:
    far = pa.array([0, 2**31 - 1 if kind == pa.date32() else 2**62], pa.int32() if kind == pa.date32() else pa.int64())
    with pytest.raises(MisfitError, match="a date in the years") as caught:
        Preparation.fit({"when": far.view(kind)}, declared=declared)
    assert caught.value.row == 1


def test_dates_that_arrow_knows_are_dates() -> None:
    assert role([date(2024, 5, 31), date(2023, 1, 2)]) == "date"
    assert role([datetime(2024, 5, 31, 14), None, datetime(2023, 1, 2)]) == "date"
    assert role([date(2024, 5, 31), date(2024, 5, 31)]) == "constant"


def test_dates_in_two_formats_are_no_dates() -> None:
    assert role(texts("2024-05-31", "31.05.2024", "2024-06-01")) == "category"


TAGS = {
    ";": ["red;blue", "blue", "green; red", "", "blue;green"],
    "|": ["red|blue", "blue", "green|red", "n/a", "blue|green"],
    ",": ["red, blue", "blue", "green,red", "", "blue,green"],
    "json": ['["red", "blue"]', "[]", '["blue"]', "", '["green"]'],
}


@pytest.mark.parametrize("separator", TAGS)
def test_several_values_in_a_cell_are_tags(separator: str) -> None:
    cells = texts(*TAGS[separator] * 20)
    guess = roles.guess_role("colours", cells)
    assert (guess.role, guess.options) == ("tags", {"separator": separator})
    assert roles.declared_role("tags", cells).options == {"separator": separator}


def test_lists_are_tags() -> None:
    assert role(pa.array([["a", "b"], [], None, ["b"]])) == "tags"
    assert role(pa.array([["a", "b"], []], pa.large_list(pa.string()))) == "tags"
    assert role(pa.array([[1, 2], [2]])) == "tags"


def test_prose_with_commas_is_text() -> None:
    cells = [f"{sentence(8)}, {sentence(7)}." for _ in range(100)]
    assert role(texts(*cells)) == "text"


def test_names_with_a_comma_are_no_tags() -> None:
    assert role(texts(*(f"smith{number}, anna{number}" for number in range(60)))) == "text"


def test_long_entries_are_no_tags() -> None:
    entries = [f"{word * 8} {word}" for word in ("lorem", "ipsum", "dolor")]
    assert role(texts(*[f"{entries[0]};{entries[1]}", entries[2], f"{entries[2]};{entries[0]}"] * 10)) == "category"


def test_prose_names_and_categories_are_told_apart() -> None:
    assert role(texts(*(sentence(9) for _ in range(60)))) == "text"
    assert role(texts(*(f"person number {number}" for number in range(60)))) == "text"
    names = roles.guess_role("who", texts(*(f"p{number}" for number in range(60))))
    assert (names.role, names.reason) == ("id", "60 different texts in 60 rows are names, not categories")
    assert role(texts(*(f"p{number % 25}" for number in range(60)))) == "category"
    assert role(texts(*(f"p{number % 60}" for number in range(600)))) == "category"
    assert role(texts("red", "dark blue", "red", "", "green")) == "category"


def test_texts_that_say_nothing_are_constant() -> None:
    same = roles.guess_role("version", texts("v2.1", "v2.1"))
    assert (same.role, same.reason) == ("constant", "every value is the same")
    empty = roles.guess_role("note", texts("", "n/a", None, "--"))
    assert (empty.role, empty.reason) == ("constant", "every value is missing")
    assert role(texts("v2.1", "")) == "category"


BROKEN = {
    "a word among numbers": (["1", "2", "two", "4"], 2, "two", "a number like the other values"),
    "decimal commas": (["1,5", "2,25"], 0, "1,5", "a number with a decimal point and no other marks"),
    "thousands": (["1'200", "3'400"], 0, "1'200", "a number with a decimal point and no other marks"),
    "percents": (["15%", "20%"], 0, "15%", "a number with a decimal point and no other marks"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_numbers_are_a_mistake_rather_than_a_category(case: str) -> None:
    cells, row, cell, expected = BROKEN[case]
    with pytest.raises(MisfitError) as caught:
        roles.guess_role("column", texts(*cells))
    assert (caught.value.row, caught.value.cell, caught.value.expected) == (row, cell, expected)


MISFITS = {
    "number": (["1", "", "many", "3"], 2, "many", "a number"),
    "date": (["2024-05-31", "n/a", "2024-06-01", "soon"], 3, "soon", "a date such as"),
    "boolean": (["yes", "no", "", "maybe"], 3, "maybe", "yes or no, true or false, 1 or 0"),
    "count": (["1", "", "many", "3"], 2, "many", "a number"),
}


@pytest.mark.parametrize("wanted", MISFITS)
def test_a_column_that_is_not_what_the_user_says_is_refused(wanted: Any) -> None:
    cells, row, cell, expected = MISFITS[wanted]
    with pytest.raises(MisfitError, match=expected) as caught:
        Preparation.fit({"size": texts(*cells)}, declared={"size": wanted})
    assert (caught.value.row, caught.value.cell, caught.value.column) == (row, cell, "size")


def test_numbers_that_are_no_flags_are_not_taken_as_flags() -> None:
    with pytest.raises(MisfitError, match="yes or no") as caught:
        roles.declared_role("boolean", pa.array([0, 1, 7]))
    assert (caught.value.row, caught.value.cell) == (2, "7")


def test_dates_written_as_one_number_can_be_declared() -> None:
    assert roles.declared_role("date", texts("20240531", "20230102")).options == {"format": "%Y%m%d"}
    assert roles.declared_role("date", pa.array([20240531, 20230102])).options == {"format": "%Y%m%d"}


@pytest.mark.parametrize("wanted", ["number", "category", "text", "tags", "id", "drop"])
def test_a_role_that_fits_is_taken(wanted: Any) -> None:
    fitted = Preparation.fit({"size": pa.array([1, 2, 2, 1])}, declared={"size": wanted})
    assert fitted.columns[0].role == wanted


def test_a_role_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="'size' is to be 'colour'; expected one of number, count, boolean"):
        Columns(roles={"size": "colour"})  # type: ignore[dict-item]


@pytest.mark.parametrize("cells", [pa.array([{"a": 1}]), pa.array([b"\x00"]), pa.array([[0.5, 1.0]])])
def test_values_that_no_role_can_hold_are_refused_by_name(cells: pa.Array) -> None:
    with pytest.raises(
        DataError, match=r"column 'odd': it holds .*; leave it out with roles={'odd': 'drop'}"
    ) as caught:
        Preparation.fit({"odd": cells}, declared={})
    assert "\n" not in str(caught.value)
    assert Preparation.fit({"odd": cells}, declared={"odd": "drop"}).columns[0].role == "drop"


def test_a_few_columns_of_counts_are_numbers_and_many_are_a_bag_of_words() -> None:
    rng = np.random.default_rng(1)
    table = {f"w{number}": pa.array((rng.random(200) < 0.05) * rng.integers(1, 5, 200)) for number in range(40)}
    few = {name: table[name] for name in list(table)[:5]}
    assert {column.role for column in Preparation.fit(few, declared={}).columns} == {"number"}
    table["w_never"] = pa.array([0] * 200)
    bag = Preparation.fit(table, declared={})
    assert {column.role for column in bag.columns} == {"count"}
    matrix, notes = bag.transform(table, 200)
    assert notes == []
    np.testing.assert_array_equal(matrix, np.stack([column.to_numpy() for column in table.values()], axis=1))


def test_a_column_without_numbers_is_no_part_of_a_bag_of_words() -> None:
    table = {f"w{number}": pa.array([number % 2, 0, 1, 1]) for number in range(40)}
    table["version"] = texts("a", "a", "a", "a")
    assert Preparation.fit(table, declared={}).columns[-1].role == "constant"


def test_every_column_says_its_role_its_reason_and_what_is_missing() -> None:
    table = {"age": pa.array([30, None, 41, 52]), "version": texts("2.1a", "2.1a", "2.1a", "2.1a")}
    first, second = Preparation.fit(table, declared={}).describe()
    assert encode(first) == {
        "column": "age",
        "role": "number",
        "encoded": "tails tamed (asinh), then scaled; missing → median + indicator",
        "features": 2,
        "missing": 0.25,
        "reason": "",
    }
    assert (second.role, second.encoded, second.features) == ("constant", "left out", 0)
    assert second.reason == "every value is the same"
