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


def published_average(suite: str, method: str) -> Mapping[str, float]:
    """Row of the paper's table of averages for one of our methods; empty where it has none."""
    rows, table = (ZEF_ROWS, "zef_test_average") if suite == "zef" else (SYNFISH_ROWS, "synfish_test_average")
    found: Mapping[str, float] = paper_results()[table].get(rows.get(method, ""), {})
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
