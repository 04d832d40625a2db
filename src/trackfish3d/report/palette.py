"""Colours of the tracks."""

# Eight hues near those of Okabe and Ito, moved until any two differ by more than 20 (CIE76) to usual, red-blind and
# green-blind eyes and by more than 14 to blue-blind ones, and all by a contrast of 3 from the page's ground. A second
# and third round of the hues is lighter and darker, and every track carries its number: colour is never the only mark.
_LIGHT = ("#1a68b1", "#a6480e", "#0ea075", "#992872", "#c1870d", "#8d8dbf", "#1a3499", "#373403")
_DARK = ("#1ba8f6", "#e37025", "#1fe0b1", "#c4729f", "#f1cd4b", "#97d3ff", "#8067b0", "#a7a36e")


def _mixed(colour: str, towards: int, share: float) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(p + (towards - p) * share):02x}" for p in parts)


PALETTES: dict[str, list[str]] = {
    "light": [*_LIGHT, *(_mixed(c, 0, 0.4) for c in _LIGHT), *(_mixed(c, 255, 0.35) for c in _LIGHT)],
    "dark": [*_DARK, *(_mixed(c, 255, 0.45) for c in _DARK), *(_mixed(c, 0, 0.35) for c in _DARK)],
}
