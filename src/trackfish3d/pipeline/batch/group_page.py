"""One page that compares groups of recordings, and the table behind it."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ...core.files import atomic_path
from ...report.palette import PALETTES
from .effects import Effect, effect_of, holm
from .manifest import Job

PAGE, TABLE = "batch.html", "batch.csv"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1150px; margin: 2rem auto; padding: 0 1rem; color: #16202b }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid #d3d9df }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; margin: .8rem 0 }
th, td { padding: 3px 9px; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
th { border-bottom: 1px solid #9aa5b1 } th:first-child, td:first-child { text-align: left }
tr:nth-child(even) td { background: #f4f5f7 } p { color: #56636f } b { color: #16202b }
figure { display: inline-block; margin: 6px 14px 10px 0; vertical-align: top } figcaption { font-size: 12px }
svg { background: #fff; border: 1px solid #e8ebef } .failed { color: #b23a00 }
"""
_WIDTH, _HEIGHT, _EDGE = 250, 190, 34


@dataclass(frozen=True)
class Summary:
    """Measures of all recordings of a batch.

    Attributes
    ----------
    jobs : recordings that were analysed.
    values : of each, by measure.
    missing : names of recordings that have no measures yet.
    """

    jobs: tuple[Job, ...]
    values: tuple[Mapping[str, float], ...]
    missing: tuple[str, ...]

    @property
    def groups(self) -> list[str]:
        """Names of the groups, the reference first: the one called control, else that of the first recording."""
        names = list(dict.fromkeys(job.group for job in self.jobs if job.group))
        return sorted(names, key=lambda n: n.lower() not in ("control", "controls"))

    @property
    def measures(self) -> list[str]:
        """Names of all measures, in their order."""
        return list(dict.fromkeys(name for row in self.values for name in row))

    @property
    def own(self) -> list[str]:
        """Names of the manifest's own columns, in their order."""
        return list(dict.fromkeys(name for job in self.jobs for name in job.more))

    def of(self, measure: str, group: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Values (N,) of a measure in a group; NaN where a recording has none.

        Parameters
        ----------
        measure : its name.
        group : its name.
        """
        rows = zip(self.jobs, self.values, strict=True)
        return np.array([row.get(measure, math.nan) for job, row in rows if job.group == group], float)

    def effects(self) -> dict[tuple[str, str], tuple[Effect, float]]:
        """Effect and corrected p by measure and group, each group against the first."""
        found = {}
        for measure in self.measures:
            for group in self.groups[1:]:
                made = effect_of(self.of(measure, group), self.of(measure, self.groups[0]))
                if made is not None:
                    found[measure, group] = made
        corrected = holm([effect.p for effect in found.values()])
        return {key: (effect, p) for (key, effect), p in zip(found.items(), corrected, strict=True)}


def write_summary(folder: Path, summary: Summary) -> Path:
    """Write the page and its table; returns the page.

    Parameters
    ----------
    folder : where they go.
    summary : what they say.
    """
    with atomic_path(folder / TABLE) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        _write_table(csv.writer(file), summary)
    with atomic_path(folder / PAGE) as temporary:
        temporary.write_text(_page(summary), encoding="utf-8")
    return folder / PAGE


def _write_table(table: Any, summary: Summary) -> None:
    own = summary.own
    table.writerow(["recording", "group", *own, *summary.measures])
    for job, row in zip(summary.jobs, summary.values, strict=True):
        cells = [job.more.get(name, "") for name in own]
        table.writerow([job.name, job.group, *cells, *(repr(row[m]) if m in row else "" for m in summary.measures)])


def _page(summary: Summary) -> str:
    groups, measures = summary.groups, summary.measures
    counts = ", ".join(f"{g}: {sum(job.group == g for job in summary.jobs)}" for g in groups)
    title = f"{len(summary.jobs)} recordings" + (f" in {len(groups)} groups" if groups else "")
    words = [
        "Each recording is one number: what the animals of one tank have in common is no evidence about others. Means "
        "of animals are weighted by how long each was followed; means of the group are over frames."
    ]
    if len(groups) > 1:
        words.append(
            f"{counts}. Effects are those against '{groups[0]}': Hedges' g with its interval of 95 %, Cliff's delta, "
            "and p of the Mann-Whitney test, Holm-corrected for all tests of this page."
        )
    elif not groups:
        words.append("Name groups in the manifest (column 'group') to have them compared.")
    parts = [f"<h1>{escape(title)}</h1>", *(f"<p>{escape(w)}</p>" for w in words)]
    if summary.missing:
        names = ", ".join(summary.missing[:20]) + (" ..." if len(summary.missing) > 20 else "")
        parts.append(f'<p class="failed">{len(summary.missing)} without measures: {escape(names)}</p>')
    if len(groups) > 1:
        parts += ["<h2>Effects</h2>", _effect_table(summary)]
    if groups:
        parts += ["<h2>Recordings by group</h2>", *(_figure(summary, m) for m in measures)]
    parts += ["<h2>All recordings</h2>", _recordings(summary)]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<title>{escape(title)}</title><style>{_STYLE}</style></head>\n'
        f"<body>{chr(10).join(parts)}</body></html>\n"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _effect_table(summary: Summary) -> str:
    groups, effects, rows = summary.groups, summary.effects(), []
    for measure in summary.measures:
        for group in groups[1:]:
            cells = [measure, _spread(summary.of(measure, groups[0])), group, _spread(summary.of(measure, group))]
            if (measure, group) in effects:
                effect, p = effects[measure, group]
                cells += [f"{effect.g:+.2f}", f"{effect.low:+.2f} to {effect.high:+.2f}", f"{effect.delta:+.2f}"]
                cells += [f"{effect.p:.2g}", f"{p:.2g}"]
            rows.append(cells + ["-"] * (9 - len(cells)))
    head = ("measure", f"{groups[0]} (mean ± sd)", "group", "mean ± sd", "g", "95 %", "delta", "p", "p, corrected")
    return _table(head, rows)


def _spread(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    known = values[np.isfinite(values)]
    if not len(known):
        return "-"
    return f"{known.mean():.4g} ± {known.std(ddof=1):.2g}" if len(known) > 1 else f"{known[0]:.4g}"


def _recordings(summary: Summary) -> str:
    rows = []
    for job, row in zip(summary.jobs, summary.values, strict=True):
        cells = [job.more.get(name, "") for name in summary.own]
        rows.append([job.name, job.group, *cells, *(f"{row[m]:.4g}" if m in row else "-" for m in summary.measures)])
    return _table(["recording", "group", *summary.own, *summary.measures], rows)


def _figure(summary: Summary, measure: str) -> str:
    """Draw a dot for each recording beside the mean of its group."""
    values = {g: summary.of(measure, g) for g in summary.groups}
    every = np.concatenate(list(values.values()))
    every = every[np.isfinite(every)]
    if not len(every):
        return ""
    low, high = float(every.min()), float(every.max())
    room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    low, high = low - room, high + room

    def y(value: float) -> float:
        return _HEIGHT - _EDGE - (value - low) / (high - low) * (_HEIGHT - _EDGE - 12)

    step = (_WIDTH - 52) / len(values)
    marks = [
        f'<text x="46" y="{y(v) + 4:.1f}" text-anchor="end" font-size="10" fill="#56636f">{v:.3g}</text>'
        f'<line x1="48" x2="{_WIDTH - 4}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#e8ebef"/>'
        for v in (low + room, 0.5 * (low + high), high - room)
    ]
    for k, (group, mine) in enumerate(values.items()):
        colour, centre = PALETTES["light"][k % len(PALETTES["light"])], 52 + step * (k + 0.5)
        mine = mine[np.isfinite(mine)]
        for j, value in enumerate(mine.tolist()):
            x = centre + step * 0.28 * ((j * 0.618) % 1 - 0.5)  # beside each other, always the same way
            marks.append(f'<circle cx="{x:.1f}" cy="{y(value):.1f}" r="3.5" fill="{colour}" fill-opacity="0.7"/>')
        if len(mine):
            at = y(float(mine.mean()))
            left, right = centre - 0.3 * step, centre + 0.3 * step
            marks.append(
                f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{at:.1f}" y2="{at:.1f}" stroke="{colour}" '
                'stroke-width="2"/>'
            )
        label = escape(group if len(group) < 14 else group[:12] + "…")
        marks.append(f'<text x="{centre:.1f}" y="{_HEIGHT - 14}" text-anchor="middle" font-size="11">{label}</text>')
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    picture = f'<svg {size} role="img" aria-label="{escape(measure)} by group">{"".join(marks)}</svg>'
    return f"<figure>{picture}<figcaption>{escape(measure)}</figcaption></figure>"
