"""Scores side by side: terminal, Markdown, CSV, JSON, LaTeX."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.markup import escape
from rich.table import Table

Row = Mapping[str, float]
_MOST_EXPLAINED = 3  # beyond, the numbers need the room that explanations take


@dataclass(frozen=True)
class Column:
    """One score in a table.

    Attributes
    ----------
    key : str
        Its name in ``to_dict()``.
    label : str
        Its name in the field.
    better : "high", "low" or None
        Which end is good; the best of several rows is set in bold.
    kind : "share", "count", "frames" or "length"
        How it is printed: percent, whole number, one digit, four digits.
    about : str
        What it says, for tables that have room.
    """

    key: str
    label: str
    better: Literal["high", "low"] | None
    kind: Literal["share", "count", "frames", "length"]
    about: str = ""

    def text(self, value: float | None) -> str:
        """Print a value; a dash where there is none."""
        if value is None or math.isnan(value):
            return "-"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        if self.kind == "share":
            return f"{100 * value:.1f}"
        if self.kind == "count":
            return f"{value:.0f}"
        return f"{value:.1f}" if self.kind == "frames" else f"{value:.4g}"

    @property
    def heading(self) -> str:
        """Label with its unit, where that is percent."""
        return f"{self.label} %" if self.kind == "share" else self.label


SUMMARY = (
    Column("mota", "MOTA", "high", "share", "1 - (misses + false positives + switches) / true points"),
    Column("idf1", "IDF1", "high", "share", "points on the one right track of each animal"),
    Column("hota", "HOTA", "high", "share", "detection and association weighed alike"),
    Column("mt", "MT", "high", "share", "animals tracked for 80 % of their frames or more"),
    Column("ml", "ML", "low", "share", "animals tracked for less than 20 %"),
    Column("switches", "IDSw", "low", "count", "an animal's track is not the one it had"),
    Column("fragmentations", "Frag", "low", "count", "interruptions of an animal's tracking"),
    Column("mtbf_m", "MTBFm", "high", "frames", "frames matched / (runs + gaps)"),
)
"""The columns of the paper's tables, and IDF1 and HOTA."""

COMPAT = Column("mtbf_m_compat", "MTBFm compat", "high", "frames", "as 3D-ZeF's script with motmetrics 1.2 or later")

FULL = (
    SUMMARY[0],
    Column("motp", "MOTP", "low", "length", "mean distance of matches, world units"),
    Column("recall", "Recall", "high", "share", "true points matched"),
    Column("precision", "Precision", "high", "share", "predicted points matched"),
    Column("false_positives", "FP", "low", "count", "predicted points not matched"),
    Column("misses", "FN", "low", "count", "true points not matched"),
    *SUMMARY[5:7],
    SUMMARY[3],
    Column("pt", "PT", None, "share", "animals tracked for 20 to 80 %"),
    SUMMARY[4],
    SUMMARY[1],
    Column("idp", "IDP", "high", "share", "precision of identities"),
    Column("idr", "IDR", "high", "share", "recall of identities"),
    SUMMARY[2],
    Column("deta", "DetA", "high", "share", "HOTA's detection part"),
    Column("assa", "AssA", "high", "share", "HOTA's association part"),
    Column("loca", "LocA", "high", "share", "HOTA's localisation part"),
    Column("mtbf_s", "MTBFs", "high", "frames", "frames matched / runs"),
    SUMMARY[7],
    Column("rmse", "RMSE", "low", "length", "of matched positions, world units"),
    Column("rmse_x", "RMSE x", "low", "length"),
    Column("rmse_y", "RMSE y", "low", "length"),
    Column("rmse_z", "RMSE z", "low", "length"),
    Column("association_precision", "Pair precision", "high", "share", "pairs of detections that are right"),
    Column("association_recall", "Pair recall", "high", "share", "true pairs of detections that were found"),
    Column("association_f1", "Pair F1", "high", "share"),
    Column("exact_group_accuracy", "Exact groups", "high", "share", "animals with exactly their detections in a frame"),
    Column("tracks", "Tracks", None, "count", "predicted identities"),
    Column("animals", "Animals", None, "count", "true identities"),
)
"""Everything `evaluate` computes that a reader compares."""

BLIND = (
    Column("tracks", "Tracks", None, "count", "predicted identities"),
    Column("length_median", "Median length", "high", "frames", "frames a track has a position in"),
    Column("length_mean", "Mean length", "high", "frames"),
    Column("length_max", "Longest", None, "count"),
    Column("full_length_tracks", "Full length", None, "count", "tracks from the first frame to the last"),
    Column("filled", "Filled", "high", "share", "frames with a position, between a track's first and last"),
    Column("held_out_median_px", "Held-out median px", "low", "length", "error in a camera that took no part"),
    Column("held_out_p95_px", "Held-out 95 % px", "low", "length"),
    Column("held_out_count", "Held-out points", None, "count"),
)
"""What can be said without truth."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Rows of scores under chosen columns.

    Attributes
    ----------
    rows : mapping of str to mapping
        Name (of a file, a method) to its scores, as ``Scores.to_dict()`` gives them; a score that is missing is
        printed as a dash.
    columns : sequence of Column
        What to show, in this order.
    """

    rows: Mapping[str, Row]
    columns: Sequence[Column] = SUMMARY

    def _best(self, column: Column) -> set[str]:
        """Print of the best value, if there are several rows and they differ."""
        texts = {column.text(row.get(column.key)) for row in self.rows.values()} - {"-"}
        if column.better is None or len(texts) < 2:
            return set()
        values = [row[column.key] for row in self.rows.values() if column.text(row.get(column.key)) in texts]
        return {column.text(max(values) if column.better == "high" else min(values))}

    def _cells(self, bold: str) -> list[list[str]]:
        """Texts row by row, the best of each column put into `bold` (a format string)."""
        best = {column.key: self._best(column) for column in self.columns}
        return [
            [
                bold.format(text) if (text := column.text(row.get(column.key))) in best[column.key] else text
                for column in self.columns
            ]
            for row in self.rows.values()
        ]

    def terminal(self, title: str = "") -> Table:
        """One line a score and one column a row of the table: many scores fit, and names may be long."""
        table = Table(title=escape(title) or None, title_justify="left")
        table.add_column("score")
        for name in self.rows:
            table.add_column(escape(name), justify="right", overflow="fold")
        explained = len(self.rows) <= _MOST_EXPLAINED
        if explained:
            table.add_column("", style="dim", overflow="fold")
        cells = self._cells("[bold green]{}[/]")
        for k, column in enumerate(self.columns):
            table.add_row(column.heading, *(line[k] for line in cells), *([column.about] if explained else []))
        return table

    def markdown(self) -> str:
        """Give a Markdown table with one line a row."""
        arrow = {"high": " ↑", "low": " ↓", None: ""}
        lines = [
            "| | " + " | ".join(column.heading + arrow[column.better] for column in self.columns) + " |",
            "|---|" + "---:|" * len(self.columns),
        ]
        for name, cells in zip(self.rows, self._cells("**{}**"), strict=True):
            lines.append(f"| {name.replace('|', chr(92) + '|')} | " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Give CSV with one line a row, every score of the rows, unrounded; empty where there is none."""
        keys = list(dict.fromkeys(key for row in self.rows.values() for key in row))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["name", *keys])
        for name, row in self.rows.items():
            writer.writerow([name, *(_csv_value(row.get(key)) for key in keys)])
        return text.getvalue()

    def json(self) -> str:
        """Give JSON, every score of the rows, unrounded; null where it is no number."""
        return json.dumps({name: plain(row) for name, row in self.rows.items()}, indent=1, allow_nan=False) + "\n"

    def latex(self) -> str:
        """Give a LaTeX tabular for booktabs."""
        arrow = {"high": r"\,$\uparrow$", "low": r"\,$\downarrow$", None: ""}
        heads = [latex_escape(column.heading) + arrow[column.better] for column in self.columns]
        lines = [
            r"\begin{tabular}{l" + "r" * len(self.columns) + "}",
            r"\toprule",
            " & ".join(["", *heads]).lstrip() + r" \\",
            r"\midrule",
        ]
        for name, cells in zip(self.rows, self._cells(r"\textbf{{{}}}"), strict=True):
            cells = ["--" if cell == "-" else cell for cell in cells]
            lines.append(" & ".join([latex_escape(name), *cells]) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def plain(row: Row) -> dict[str, Any]:
    """Scores as JSON can hold them: None in place of NaN and infinity."""
    return {key: value if math.isfinite(value) else None for key, value in row.items()}


def latex_escape(text: str) -> str:
    """Escape what LaTeX would take for commands."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {character: "\\" + character for character in "&%$#_{}"}
    return "".join(special.get(character, character) for character in text)


def _csv_value(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else repr(value)
