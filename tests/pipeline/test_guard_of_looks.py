"""Whether a second look is worth its tracks, told without truth."""

import numpy as np

from trackfish3d.pipeline.again.guard import Soundness, objection
from trackfish3d.recordings import Tracks

FRAMES = 60


def tracks(pieces: list[tuple[int, int]], observed: float = 1.0, error_px: float = 1.0) -> Tracks:
    """Tracks from one frame to another (inclusive), of which every so many moments are observed."""
    frame = np.concatenate([np.arange(a, b + 1) for a, b in pieces])
    track = np.concatenate([np.full(b + 1 - a, k) for k, (a, b) in enumerate(pieces)])
    n = len(frame)
    seen = np.arange(n) < round(observed * n)
    return Tracks.build(frame, track, np.zeros((n, 3)), observed=seen, error_px=np.full(n, error_px))


WHOLE = (0, FRAMES - 1)


def test_breaks_are_counted_inside_the_film_only() -> None:
    sound = Soundness.of(tracks([WHOLE, (0, 20), (25, FRAMES - 1), (5, 50)], 0.75, 2.0), *WHOLE)
    assert sound.breaks == 4
    assert abs(sound.observed - 0.75) < 0.01
    assert sound.error_px == 2.0


def test_tracks_that_break_without_being_seen_more_are_refused() -> None:
    whole, broken = [WHOLE] * 6, [WHOLE] * 4 + [(0, 20), (21, FRAMES - 1), (0, 30), (35, FRAMES - 1)]
    why = objection(tracks(whole, 0.9), tracks(broken, 0.9))
    assert why is not None
    assert "break 4 times, 0 before" in why
    assert objection(tracks(broken, 0.9), tracks(whole, 0.9)) is None
    assert objection(tracks(whole, 0.9), tracks(broken, 0.95)) is None  # more animals are seen, some only for a while
    assert objection(tracks(whole, 0.9), tracks(whole, 0.9)) is None


def test_tracks_that_are_seen_less_or_fit_worse_are_refused() -> None:
    assert "90.0% of their moments, 96.7% before" in str(objection(tracks([WHOLE], 29 / 30), tracks([WHOLE], 0.9)))
    assert "2.00 px, 1.00 before" in str(objection(tracks([WHOLE], 0.9), tracks([WHOLE], 0.9, 2.0)))
    assert objection(tracks([WHOLE], 0.9), Tracks.build([], [], np.zeros((0, 3)))) == "no tracks are left"
