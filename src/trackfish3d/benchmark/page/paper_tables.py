"""Tables of the paper from the results of suites, its numbers in brackets."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..paper import COLUMNS, SYNFISH_TEST, WEIGHTS, ZEF_TEST, paper_results
from ..report import at_level, noise_levels, score_text
from .document import Section, beside

Results = Sequence[Mapping[str, Any]]
RECIPE = "recipe-paper"  # label of a network that was trained to the letter
# Label of ours, name in the page, row of the paper's tables.
FAMILIES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "Detection + geometric association + nearest neighbours": (
        ("hungarian", "Hungarian, with the box test", "SAM3+Hungarian"),
        ("greedy", "Greedy, with the box test", "SAM3+Greedy"),
        ("sort3d", "3D-SORT, with the box test", "SAM3+3D-SORT"),
    ),
    "Detection + learned association + nearest neighbours": (
        ("selfmva", "Self-MVA", "Self-MVA"),
        ("selfmva-boxes", "Self-MVA, with the box test", "Self-MVA"),
        ("asnet", "ASNet", "ASNet"),
        ("asnet-boxes", "ASNet, with the box test", "ASNet"),
    ),
    "Multi-camera tracking, triangulated": (("rest", "ReST", "ReST"),),
    "This method": (
        (RECIPE, "TrackFish3D, recipe paper to the letter", "TrackFish3D(SAM3)"),
        ("paper", "TrackFish3D, shipped network", "TrackFish3D(SAM3)"),
    ),
    "Not in the paper": (
        ("joint", "joint, the default here", ""),
        ("oracle", "oracle + Kalman filter: told which detections belong together", ""),
    ),
}
# Rows that the paper has for whole systems; here their association on shared detections, so in a table of their own.
SHARED = (
    ("sambamotr", "SambaMOTR's association", "SambaMOTR"),
    ("motip", "MOTIP's association", "MOTIP"),
    ("mctr", "MCTR's association", "MCTR"),
)
# The paper's pipelines with its second detector, YOLO26 and SAM 2.
SECOND = (
    ("hungarian", "Hungarian, with the box test", "YOLO26+SAM2+Hungarian"),
    ("greedy", "Greedy, with the box test", "YOLO26+SAM2+Greedy"),
    ("sort3d", "3D-SORT, with the box test", ""),
    ("paper", "TrackFish3D, shipped network", "TrackFish3D(YOLO26+SAM2)"),
    ("joint", "joint, the default here", ""),
)
HEADS = tuple(f"{name}{' %' if share else ''}" for name, _, share in COLUMNS)


def has(results: Results, label: str) -> bool:
    """Whether a method was run."""
    return any(r["label"] == label for r in results)


def score_row(results: Results, label: str, published: Mapping[str, float]) -> list[str]:
    """Scores of one method under the paper's columns, its own in brackets."""
    return [beside(score_text(results, label, key, share), published.get(name)) for name, key, share in COLUMNS]


def average(section: Section, results: Results) -> Section:
    """Averages over the test scenes of all pipelines."""
    table = paper_results()["synfish_test_average"]
    for family, rows in FAMILIES.items():
        shown = [[name, *score_row(results, label, table.get(row, {}))] for label, name, row in rows]
        section.table((family, *HEADS), shown)
    lines = [[name, *score_row(results, label, table[row])] for label, name, row in SHARED]
    section.table(("Association on shared detections; in brackets the paper's whole systems", *HEADS), lines)
    return section.say("Rows of ours have the one simulated detector; those of a second one are in the next section.")


def second_detector(section: Section, results: Results) -> Section:
    """Pipelines on the same films with a detector that was taught here, the paper's YOLO26 and SAM 2 in brackets."""
    table = paper_results()["synfish_test_average"]
    lines = []
    for label, name, row in SECOND:
        by = [score_text([r for r in results if r["base"] == s], label, "mota", True) for s in SYNFISH_TEST]
        lines.append([name, *score_row(results, label, table.get(row, {})), *by])
    section.table(("", *HEADS, *(f"MOTA {s}" for s in SYNFISH_TEST)), lines)
    section.say(
        "No weights of SAM 2, SAM 3 or YOLO26 can be had without a network, so the paper's own are only quoted."
    )
    if not results:
        section.say(
            "Quoted: give recordings of the test scenes in whose films a detector of yours found the fish, with "
            "--second-detector; detect --train --synfish train teaches a YOLO26n-seg from nothing (docs/detect.md)."
        )
    return section


def per_scene(section: Section, results: Results) -> Section:
    """MOTA of every scene and pipeline."""
    table = paper_results()["synfish_test_MOTA_per_scene"]
    rows = []
    for label, name, row in [r for rows in FAMILIES.values() for r in rows] + list(SHARED):
        cells = []
        for k, scene in enumerate(SYNFISH_TEST):
            mine = [r for r in results if r["base"] == scene]
            cells.append(beside(score_text(mine, label, "mota", True), table[row][k] if row in table else None))
        rows.append([name, *cells])
    section.table(("MOTA %", *SYNFISH_TEST), rows)
    for key, head, share in (("mt", "MT %", True), ("switches", "IDSw", False), ("fragmentations", "Frag", False)):
        rows = []
        for label, name, _ in [r for rows in FAMILIES.values() for r in rows] + list(SHARED):
            by = [score_text([r for r in results if r["base"] == s], label, key, share) for s in SYNFISH_TEST]
            rows.append([name, *by])
        section.table((head, *SYNFISH_TEST), rows)
    return section


def zef(section: Section, results: Results) -> Section:
    """3D-ZeF, average and both sequences."""
    table, scenes = paper_results()["zef_test_average"], paper_results()["zef_test_MOTA_per_scene"]
    names = {"hungarian": "Hungarian+nearest", "greedy": "Greedy+nearest", "sort3d": "3D-SORT", "paper": "TrackFish3D"}
    rows = []
    for label in dict.fromkeys(r["label"] for r in results):
        row = names.get(label, "")
        by = []
        for k, s in enumerate(ZEF_TEST):
            mine = score_text([r for r in results if r["base"] == s], label, "mota", True)
            by.append(beside(mine, scenes[row][k] if row in scenes else None))
        rows.append([label, *score_row(results, label, table.get(row, {})), *by])
    for name, row in table.items():
        if name not in names.values():
            rows.append([f"{name}, quoted", *(f"({row[c[0]]:.1f})" for c in COLUMNS), "", ""])
    return section.table(("", *HEADS, *(f"MOTA {s}" for s in ZEF_TEST)), rows)


def noise(section: Section, results: Results, kind: str) -> Section:
    """Scores of the paper's method at every level of noise."""
    name = "calibration_noise_inference" if kind == "calibration" else "detection_noise"
    published = {float(k): row for k, row in paper_results()[name].items()}
    for label in dict.fromkeys(r["label"] for r in results):
        beside_it = published if label == "paper" else {}
        rows = [
            [f"{s:g}", *score_row(at_level(results, kind, s), label, beside_it.get(s, {}))]
            for s in noise_levels(results, kind)
        ]
        section.table((f"{label}, noise", *HEADS), rows)
    return section


def weights(section: Section, results: Results) -> Section:
    """Weights of distance and similarity in linking."""
    table = paper_results()["temporal_weights"]
    rows = []
    for alpha in WEIGHTS:
        row = table.get(alpha) or table.get(f"alpha{alpha}") or {}
        row = row if isinstance(row, Mapping) else {"MOTA": row}
        rows.append([f"{alpha} / {1 - float(alpha):.1f}", *score_row(results, f"alpha {alpha}", row)])
    return section.table(("alpha / beta", *HEADS), rows)


def ablation(section: Section, results: Results) -> Section:
    """Networks without a part."""
    tables = (paper_results()["ablation_losses"], paper_results()["ablation_attention"])
    names = [*tables[0], "mlp_only"]
    rows = []
    for name in names:
        row = tables[0].get(name) or tables[1].get(name, {})
        ours = [score_text(results, name, key, share) if results else "-" for _, key, share in COLUMNS]
        cells = [beside(o, row.get(c[0])) for o, c in zip(ours, COLUMNS, strict=True)]
        rows.append([name.replace("_", " "), *cells])
    return section.table(("", *HEADS), rows)


def density(section: Section, results: Results) -> Section:
    """Thirty fish."""
    table = paper_results()["thirty_fish"]
    names = {"hungarian": "SAM3+Hungarian", "paper": "TrackFish3D(SAM3)"}
    rows = []
    for label in dict.fromkeys(r["label"] for r in results):
        rows.append([label, *score_row(results, label, table.get(names.get(label, ""), {}))])
    return section.table(("30 fish", *HEADS), rows)


def pigeons(section: Section) -> Section:
    """Quote the paper's table: the recordings cannot be had here."""
    table = paper_results()["pigeon10_seq48"]
    heads = list(next(iter(table.values())))
    section.table(("Quoted", *heads), [[n, *(f"({row[h]:g})" for h in heads)] for n, row in table.items()])
    return section.say(
        "3D-POP cannot be had here. docs/results/paper_real.md has bats, the other animal in air that was tracked."
    )
