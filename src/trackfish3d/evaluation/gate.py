"""How near a track must be to count as right."""

_GATES = {"unit": 1.0, "cm": 0.5, "mm": 5.0, "m": 0.005}


def default_gate(units: str) -> float:
    """Distance up to which a track point counts as right: 1.0 in SynFish's units, half a centimetre in real ones."""
    return _GATES.get(units, 1.0)
