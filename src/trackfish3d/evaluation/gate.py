"""How near a track must be to count as right, where the user does not say."""

from typing import NamedTuple

from ..core.files import read_json
from ..recordings import Recording

SHARE = 1 / 3  # of a body length
_GATES = {"unit": 1.0, "cm": 0.5, "mm": 5.0, "m": 0.005}


class Gate(NamedTuple):
    """Largest ``distance`` of a match, world units, and ``why`` it is this one."""

    distance: float
    why: str


def default_gate(recording: Recording) -> Gate:
    """Return a third of the body length that the tracker estimated, to two digits.

    Where it estimated none, 1.0 in SynFish's units and half a centimetre in real ones.

    Parameters
    ----------
    recording : whose ``tracks.settings.json`` tells the body length.
    """
    said = read_json(recording.folder / "tracks.settings.json")
    length = said.get("body_length") if isinstance(said, dict) else None
    if isinstance(length, (int, float)) and 0 < length < 1e12:
        return Gate(float(f"{SHARE * length:.2g}"), f"a third of the body length {length:.3g} {recording.units}")
    return Gate(_GATES.get(recording.units, 1.0), "usual for these units")
