"""Tables of scores can be read back, and say which is best."""

import csv
import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from trackfish3d.evaluation import evaluate
from trackfish3d.evaluation.association import association_scores
from trackfish3d.evaluation.tables import COMPAT, FULL, SUMMARY, Column, ScoreTable, latex_escape

ROWS = {
    "naive_1": {"mota": 0.361, "idf1": 0.426, "switches": 10, "mtbf_m": 8.26},
    "mff|x": {"mota": 0.8924, "idf1": math.nan, "switches": 5, "mtbf_m": 27.3},
}


def test_every_column_is_a_score_that_evaluate_gives() -> None:
    xyz = np.zeros((2, 3))
    scores = evaluate([0, 1], [1, 1], xyz, [0, 1], [1, 1], xyz, gate=1.0).to_dict()
    association = association_scores([0, 0], [0, 1], [0, 0], [1, 1]).to_dict()
    assert {column.key for column in (*SUMMARY, *FULL, COMPAT)} <= set(scores | association)


def test_markdown_sets_the_best_in_bold() -> None:
    lines = ScoreTable(ROWS).markdown().splitlines()
    assert lines[0].startswith("| | MOTA % ↑ | IDF1 % ↑ |")
    assert lines[2].startswith("| naive_1 | 36.1 | 42.6 |")
    assert lines[3].startswith("| mff\\|x | **89.2** | - |")
    assert "| **5** |" in lines[3]


def test_one_row_alone_is_not_the_best() -> None:
    assert "**" not in ScoreTable({"only": ROWS["naive_1"]}).markdown()


def test_equal_prints_are_both_or_neither_best() -> None:
    rows = {"a": {"mota": 0.50001}, "b": {"mota": 0.50002}}
    assert "**" not in ScoreTable(rows).markdown()
    assert ScoreTable(rows | {"c": {"mota": 0.1}}).markdown().count("**50.0**") == 2


def test_csv_keeps_every_digit() -> None:
    rows = list(csv.DictReader(io.StringIO(ScoreTable({"a": {"mota": 1 / 3, "motp": math.nan}}).csv())))
    assert float(rows[0]["mota"]) == 1 / 3
    assert rows[0]["motp"] == ""


def test_json_has_null_where_there_is_no_number() -> None:
    table = ScoreTable({"a": {"mota": -math.inf, "idf1": math.nan, "hota": 0.1}})
    assert json.loads(table.json()) == {"a": {"mota": None, "idf1": None, "hota": 0.1}}


def test_latex_escapes_names_and_sets_the_best_in_bold() -> None:
    text = ScoreTable(ROWS, SUMMARY[:2]).latex()
    assert r"naive\_1 & 36.1 & 42.6 \\" in text
    assert r"\textbf{89.2} & -- \\" in text
    assert r"MOTA \%\,$\uparrow$" in text
    assert text.count("{") == text.count("}")
    assert latex_escape("a\\b^c") == r"a\textbackslash{}b\textasciicircum{}c"


def test_terminal_shows_names_with_brackets_as_they_are() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(ScoreTable({"run[1].csv": {"mota": 0.5}}, FULL).terminal("gate 1"))
    text = console.export_text()
    assert "run[1].csv" in text
    assert "50.0" in text


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("share", 0.123456, "12.3"),
        ("count", 12.0, "12"),
        ("frames", 33.333, "33.3"),
        ("length", 0.123456, "0.1235"),
        ("share", math.nan, "-"),
        ("share", -math.inf, "-inf"),
        ("count", None, "-"),
    ],
)
def test_values_print_by_their_kind(kind: str, value: float | None, text: str) -> None:
    assert Column("k", "K", None, kind).text(value) == text  # type: ignore[arg-type]
