"""Colours of the tracks."""

# Eight hues that stay apart for red-, green- and blue-blind readers (after Okabe and Ito, and Tol), each tuned to the
# page's ground: dark enough on white, light enough on black. A second and third round of the hues is lighter and
# darker, and every track carries its number: colour is never the only mark.
_LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b5479a", "#b8860b", "#3a9bdc", "#6a3d9a", "#5c5c3d")
_DARK = ("#4aa8e8", "#ff8a3d", "#2fc79a", "#e58fc4", "#e8c547", "#9bd4ff", "#b39ae6", "#b9b98a")


def _mixed(colour: str, towards: int, share: float) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(p + (towards - p) * share):02x}" for p in parts)


PALETTES: dict[str, list[str]] = {
    "light": [*_LIGHT, *(_mixed(c, 0, 0.4) for c in _LIGHT), *(_mixed(c, 255, 0.35) for c in _LIGHT)],
    "dark": [*_DARK, *(_mixed(c, 255, 0.45) for c in _DARK), *(_mixed(c, 0, 0.35) for c in _DARK)],
}
