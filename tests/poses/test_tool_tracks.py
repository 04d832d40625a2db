"""2D tracks of pose tools: what they are worth is learnt; they decide where motion cannot, and are not believed."""

from dataclasses import replace

import numpy as np
import pytest

from trackfish3d.cameras import CameraRig
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.parts.tool_tracks import DOUBT, LEAST, ToolTracks
from trackfish3d.methods.joint.refinement.repair import Swaps
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Detections
from trackfish3d.synfish.pose_detector import Failures
from trackfish3d.synfish.rigs import common_point, random_rig

from .schools import school

FRAMES = 40


def two_tracks(
    name_of: np.ndarray, far: float = 5.0, touch: tuple[int, int] = (18, 22)
) -> tuple[Observations, Trajectories]:
    """Two tracks seen by one camera in every frame; boxes touch in some; ``name_of`` (2, FRAMES) of the tool."""
    frame = np.tile(np.arange(FRAMES), 2)
    track = np.repeat([0, 1], FRAMES)
    left = np.where((frame >= touch[0]) & (frame <= touch[1]), 8.0, 50.0) * track
    box = np.column_stack([left, np.zeros(2 * FRAMES), left + 10, np.full(2 * FRAMES, 10.0)])
    n = 2 * FRAMES
    one, three = np.zeros(n), np.zeros((n, 3))
    obs = Observations(
        np.zeros(n, np.int64), left, one, one + 1, one, one, three, three, three, box=box, tracklet=name_of.ravel()
    )
    state = np.zeros((n, 6))
    state[:, 0] = far * track
    return obs, Trajectories(track, frame, np.arange(n)[:, None], state, np.zeros((n, 6, 6)))


def named(exchanged_from: int | None) -> np.ndarray:
    out = np.repeat([[7], [9]], FRAMES, axis=1)
    if exchanged_from is not None:
        out[:, exchanged_from:] = out[::-1, exchanged_from:]
    return out


def test_errors_are_counted_where_animals_pass_in_one_view_alone() -> None:
    kept, crossed = (ToolTracks(*two_tracks(named(when))).errors(1.0)[0] for when in (None, 20))
    assert kept == DOUBT[0] / (1 + DOUBT[1])
    assert crossed == (1 + DOUBT[0]) / (1 + DOUBT[1])
    near = ToolTracks(*two_tracks(named(20), far=0.5)).errors(1.0)[0]
    assert near == DOUBT[0] / DOUBT[1], "animals that are near each other say nothing of the tool"


def test_names_that_are_exchanged_speak_for_a_swap_and_names_that_are_kept_against_it() -> None:
    for when, sign in ((None, -1), (20, 1)):
        obs, paths = two_tracks(named(when), far=0.5)
        swaps = Swaps(np.array([19, 21]), np.array([FRAMES + 19, FRAMES + 21]), np.zeros(2))
        tool = ToolTracks(obs, paths)
        wrong = tool.errors(1.0)[0]
        np.testing.assert_allclose(tool.swapped(swaps, 1.0).odds, sign * np.log((1 - wrong) / wrong))


def test_a_tool_is_never_taken_to_be_sure_and_no_name_says_nothing() -> None:
    names = named(None)
    obs, paths = two_tracks(names)
    assert ToolTracks(obs, paths).errors(1.0)[0] >= LEAST
    obs = replace(obs, tracklet=np.full(2 * FRAMES, -1))
    swaps = Swaps(np.array([19]), np.array([FRAMES + 19]), np.array([1.5]))
    assert ToolTracks(obs, paths).swapped(swaps, 1.0).odds[0] == 1.5


def test_a_name_is_forgotten_after_a_while() -> None:
    names = named(None)
    names[0, 3:] = -1
    tool = ToolTracks(*two_tracks(names))
    assert tool.before[10, 0] == 7
    assert tool.before[FRAMES - 1, 0] == -1
    assert tool.after[FRAMES, 0] == 9, "of the next track, not of this one"


def test_fragments_of_one_name_are_likelier_one_animal_than_those_of_two() -> None:
    obs, paths = two_tracks(named(None))
    torn = paths.take(paths.frame != 20)
    torn.name = torn.name * 2 + (torn.frame > 20)
    odds = ToolTracks(obs, torn).link_odds()  # ends and beginnings of 0 | 1 (the first animal) and 2 | 3 (the second)
    assert odds[0, 1] > 0 > odds[0, 3]
    assert odds[2, 3] > 0 > odds[2, 1]


def wandering(seed: int, animals: int = 4, frames: int = 90) -> tuple[CameraRig, Detections, np.ndarray]:
    """Animals that wander about as if drunk, all of them unseen for 30 frames, and who each detection shows."""
    rng = np.random.default_rng(seed)
    rig = random_rig(3, seed)
    step = 0.15 * rng.standard_normal((frames, animals, 3))
    place = common_point(rig) + rng.uniform(-1.5, 1.5, (animals, 3)) + np.cumsum(step, axis=0)
    frame, who = (x.ravel() for x in np.meshgrid(np.arange(frames), np.arange(animals), indexing="ij"))
    seen = np.tile((frame < 30) | (frame >= 60), len(rig))
    uv = np.concatenate([c.project(place.reshape(-1, 3)) for c in rig]) + rng.standard_normal((len(seen), 2))
    camera, name = np.repeat(np.arange(len(rig)), len(frame)), np.tile(who, len(rig))
    box = [x[seen] for x in (uv[:, 0] - 8, uv[:, 1] - 8, uv[:, 0] + 8, uv[:, 1] + 8)]
    frame = np.tile(frame, len(rig))
    found = Detections.build(rig.names, frame[seen], camera[seen], *uv[seen].T, *box, tracklet=name[seen])
    return rig, found, found.tracklet


def found_again(rig: CameraRig, found: Detections, who: np.ndarray) -> tuple[int, int]:
    """How many animals have the right past after the gap, and how many a wrong one."""
    tracks = make_method("joint").track(rig, found, 30.0).tracks
    right = wrong = 0
    for t in tracks.identities:
        rows = tracks.detection[tracks.track == t].ravel()
        rows = rows[rows >= 0]
        late = found.frame[rows] >= 60
        if late.any() and not late.all():
            same = np.bincount(who[rows[late]]).argmax() == np.bincount(who[rows[~late]]).argmax()
            right, wrong = right + int(same), wrong + int(not same)
    return right, wrong


def test_who_was_lost_is_found_again_by_name_and_shuffled_names_do_no_harm() -> None:
    total = np.zeros((3, 2), int)
    for seed in range(3):
        rig, found, who = wandering(seed)
        shuffled = np.random.default_rng(seed).permutation(found.tracklet)
        for k, names in enumerate((found.tracklet, None, shuffled)):
            total[k] += found_again(rig, replace(found, tracklet=names), who)
    named_, without, nonsense = total
    assert named_[0] >= without[0] + 4
    assert nonsense[1] <= without[1] + 1


def test_the_simulated_tool_names_animals_and_errs_as_often_as_it_is_told() -> None:
    made = school(fish=4, frames=60, renamed=0.0, exchanged=0.0)
    truth = made.bodies
    assert truth.detection is not None
    rows, view = np.nonzero(truth.detection >= 0)
    name = made.detections.tracklet[truth.detection[rows, view]]
    single = np.bincount(truth.detection[rows, view])[truth.detection[rows, view]] == 1
    assert (name == truth.identity[rows])[single].all()
    wild = school(fish=4, frames=60, renamed=1.0, exchanged=1.0)
    assert len(np.unique(wild.detections.tracklet)) > 4
    assert Failures().exchanged > 0


@pytest.mark.parametrize("rows", [np.array([-5, 2, -1]), [0.0, 1.0, -1.0]])
def test_numbers_below_zero_are_no_tracks(rows: object) -> None:
    found = Detections.build(["a"], [0, 0, 1], [0, 0, 0], [1, 2, 3], [1, 2, 3], tracklet=rows)
    assert (found.tracklet >= -1).all()
