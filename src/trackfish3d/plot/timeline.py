"""Who was followed by which track, and when animals were lost, swapped or broken."""

from matplotlib.figure import Figure

from ..evaluation import Scores
from ..evaluation.score_timeline import timeline_figure


def timeline(scores: Scores, title: str = "") -> Figure:
    """Draw scores over time.

    Parameters
    ----------
    scores : of tracks against the truth.
    title : above the figure.
    """
    return timeline_figure(scores, title)
