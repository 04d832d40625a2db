"""Numbers of the paper, beside which ours are printed."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

# Our method and the row of the paper's tables that it answers to.
SYNFISH_ROWS = {
    "hungarian": "SAM3+Hungarian",
    "greedy": "SAM3+Greedy",
    "sort3d": "SAM3+3D-SORT",
    "paper": "TrackFish3D(SAM3)",
}
ZEF_ROWS = {
    "hungarian": "Hungarian+nearest",
    "greedy": "Greedy+nearest",
    "sort3d": "3D-SORT",
    "paper": "TrackFish3D",
}
SYNFISH_TEST: tuple[str, ...] = ("test1", "test2", "test3", "test4", "test5", "test6")
ZEF_TEST: tuple[str, ...] = ("02", "04")
OURS = "TrackFish3D(SAM3)"
# Rows of the paper's two ablations, in its order; our files of trained networks are called so.
ABLATION_ROWS = ("full", "without_temporal", "without_contrastive", "without_both", "plus_DINOv3", "mlp_only")
WEIGHTS = ("1.0", "0.8", "0.6", "0.4", "0.2", "0.0")  # alpha; beta is the rest to one

# Key of the paper's tables, our score, and whether ours is a share of one where the paper's is percent.
# Its MTBF equals matched frames / runs in every row, which is our MTBFs.
COLUMNS = (
    ("MOTA", "mota", True),
    ("MT", "mt", True),
    ("ML", "ml", True),
    ("IDSw", "switches", False),
    ("Frag", "fragmentations", False),
    ("MTBF", "mtbf_s", False),
)


@cache
def paper_results() -> Mapping[str, Any]:
    """All published tables."""
    text = resources.files("trackfish3d.benchmark").joinpath("data/paper_results.json").read_text("utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


def published_average(suite: str, label: str) -> Mapping[str, float]:
    """Row of the paper's table of averages that answers to a row of ours; empty where it has none."""
    results = paper_results()
    if suite == "weights":
        found: Mapping[str, float] = results["temporal_weights"].get(label.removeprefix("alpha "), {})
    elif suite == "ablation":
        found = results["ablation_losses"].get(label) or results["ablation_attention"].get(label, {})
    elif suite == "zef":
        found = results["zef_test_average"].get(ZEF_ROWS.get(label, ""), {})
    else:
        found = results["synfish_test_average"].get(SYNFISH_ROWS.get(label, ""), {})
    return found


def published_others(suite: str) -> Mapping[str, Mapping[str, float]]:
    """All rows of the paper's table of averages that a suite is compared with; none where it answers row by row."""
    table = {"zef": "zef_test_average", "synfish": "synfish_test_average", "peers": "synfish_test_average"}.get(suite)
    found: Mapping[str, Mapping[str, float]] = paper_results()[table] if table else {}
    return found


def published_mota(suite: str, method: str, scene: str) -> float | None:
    """MOTA in percent that the paper has for one of our methods on one scene."""
    if suite == "zef":
        table, rows, scenes = paper_results()["zef_test_MOTA_per_scene"], ZEF_ROWS, ZEF_TEST
    elif scene == "thirty":
        row = paper_results()["thirty_fish"].get(SYNFISH_ROWS.get(method, ""))
        return None if row is None else float(row["MOTA"])
    else:
        table, rows, scenes = paper_results()["synfish_test_MOTA_per_scene"], SYNFISH_ROWS, SYNFISH_TEST
    row = table.get(rows.get(method, ""))
    return None if row is None or scene not in scenes else float(row[scenes.index(scene)])
