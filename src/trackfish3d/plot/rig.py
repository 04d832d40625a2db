"""The rig: cameras, their fields of view, the water, and where the animals are."""

from matplotlib.figure import Figure

from ..health.picture import animals, rig_figure
from ..recordings import Recording


def rig(recording: Recording) -> Figure:
    """Draw the rig of a recording in 3D and along each world axis.

    Parameters
    ----------
    recording : with detections, which show where the animals are.
    """
    return rig_figure(recording.rig, animals(recording.rig, recording.detections))
