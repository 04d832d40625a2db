"""What each stage of a method costs: its stages replaced by oracles, one at a time.

Truth is used here to analyse, never to track. A stage replaced by the truth shows what a perfect one would gain, with
all the others as they are.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..core.errors import InputError, TrackFishError
from ..evaluation.oracle import true_groups
from ..maths.assignment import assign
from ..methods.base import Method
from ..methods.baselines.geometric import GeometricMethod, KalmanSettings, Sort3D, link_by_kalman
from ..methods.groups import Groups, groups_to_tracks
from ..methods.paper.method import Paper, PaperSettings, link_groups
from ..methods.postprocess import postprocess
from ..methods.registry import make_method
from ..recordings import Detections, Recording, Tracks, Truth
from .ambiguity import ScoreBin, claimed_pairs, scored_pairs
from .fates import fates
from .jobs import score
from .variants import Variant

Ints = NDArray[np.int64]
AS_IS = "as it is"
TRUE_IDENTITIES = "its groups, true identities"
TRUE_PAIRS = "true pairs, its grouping and linking"
TRUE_GROUPING = "its pairs, true grouping, its linking"
TRUE_GROUPS = "true groups, its linking"
KALMAN = "true groups, Kalman"
CEILING = "true groups, true identities"
ORDER = (AS_IS, TRUE_PAIRS, TRUE_GROUPING, TRUE_GROUPS, TRUE_IDENTITIES, KALMAN, CEILING)


@dataclass(frozen=True)
class StageScene:
    """A recording whose truth says which detection shows whom."""

    rig: CameraRig
    detections: Detections
    truth: Truth
    fps: float

    @classmethod
    def open(cls, folder: Path) -> "StageScene":
        """Read a recording, or say why it cannot be analysed."""
        recording = Recording.open(folder)
        truth = recording.truth
        if truth is None or truth.detection is None:
            raise InputError(f"{folder}: its truth does not say which detection shows whom; stages need that")
        return cls(recording.rig, recording.detections, truth, recording.fps)


def analyse(variant: Variant, folder: Path, gate: float) -> dict[str, Any]:
    """Score a method on a scene with each stage replaced, and its pairs by ambiguity."""
    result: dict[str, Any] = {"label": variant.label, "method": variant.method}
    try:
        scene = StageScene.open(folder)
        method = make_method(variant.method, variant.settings).resolve(scene.rig, scene.detections)
        found = method.run(scene.rig, scene.detections, scene.fps, lambda done, total: None).tracks
        runs = {AS_IS: found, TRUE_IDENTITIES: identified(scene, found, gate)} | common(scene, gate)
        if isinstance(method, GeometricMethod):
            groups = true_groups(scene.rig, scene.detections, scene.truth)
            runs[TRUE_GROUPS] = groups_to_tracks(scene.rig, scene.detections, groups, method.link(groups))
        if isinstance(method, Paper):
            more, scores, lost = published_stages(scene, method)
            runs |= more
            result |= {"scored_pairs": [asdict(b) for b in scores], "fates": lost}
        result["stages"] = {label: finished(scene, method, runs[label], gate) for label in ORDER if label in runs}
        result["pairs"] = [b.to_dict() for b in claimed_pairs(scene.rig, scene.detections, scene.truth, found)]
    except TrackFishError as error:
        result["error"] = " ".join(str(error).split())
    return result


def finished(scene: StageScene, method: Method, tracks: Tracks, gate: float) -> dict[str, Any]:
    """Score tracks after the post-processing that all methods share."""
    return score(scene.truth, postprocess(tracks, method.settings.max_gap, method.settings.min_obs), gate)


def common(scene: StageScene, gate: float) -> dict[str, Tracks]:
    """Make the runs that are the same for every method: the ceilings."""
    groups = true_groups(scene.rig, scene.detections, scene.truth)
    settings = Sort3D().resolve(scene.rig, scene.detections).settings
    assert isinstance(settings, KalmanSettings)
    linked = groups_to_tracks(scene.rig, scene.detections, groups, link_by_kalman(settings, groups))
    return {KALMAN: linked, CEILING: identified(scene, linked, gate)}


def identified(scene: StageScene, tracks: Tracks, gate: float) -> Tracks:
    """Give each observed point of tracks to the animal that more than half of its detections show.

    Points of nobody, and those farther than ``gate`` (world units) from their animal, are dropped, as a perfect linker
    would. In a frame an animal has one point: of several the one with most of its detections, then the nearest.
    """
    seen = tracks.select(tracks.observed & (tracks.detection >= 0).any(1))
    whom = scene.truth.identities_of_detections(len(scene.detections))
    animals, index = np.unique(scene.truth.identity, return_inverse=True)
    number = np.full(len(seen), -1, np.int64)
    for frame in np.unique(seen.frame):
        rows = np.flatnonzero(seen.frame == frame)
        there = np.flatnonzero(scene.truth.frame == frame)
        shown = seen.detection[rows]  # (G, C)
        members = np.where(shown[:, :, None] >= 0, whom[shown], -1)  # (G, C, K)
        votes = (members[:, :, :, None] == scene.truth.identity[there]).any(2).sum(1)  # (G, A)
        distance = np.linalg.norm(seen.position[rows][:, None] - scene.truth.position[there][None], axis=2)
        ok = (2 * votes > (shown >= 0).sum(1)[:, None]) & (distance <= gate)
        cost = np.where(ok, distance / gate - votes, np.inf)
        partner = assign(np.ascontiguousarray(cost))
        met = partner >= 0
        number[rows[met]] = index[there[partner[met]]]
    kept = number >= 0
    out = seen.select(kept)
    return Tracks.build(
        out.frame,
        animals[number[kept]],
        out.position,
        covariance=out.covariance,
        error_px=out.error_px,
        confidence=out.confidence,
        detection=out.detection,
        cameras=out.cameras,
    )


def published_stages(scene: StageScene, method: Paper) -> tuple[dict[str, Tracks], list[ScoreBin], dict[str, int]]:
    """Run the published method with true pairs, with true grouping and with true groups.

    Also returns how well its scores part pairs, and what becomes of each animal in its grouping.

    A true grouping takes of the pairs that the network accepts the right ones, whatever the rules about two views and
    boxes say.
    """
    from ..methods.paper.inference import group_scored, in_order, mean_embedding, score_frames

    s: PaperSettings = method.settings
    rig, d = scene.rig, scene.detections
    extra = method.extra_features(d)
    net = method.network(rig, d, extra)
    whom = scene.truth.identities_of_detections(len(d))
    lenient = s.grouping.model_copy(update={"two_view_threshold": s.grouping.threshold})
    nowhere, everywhere = np.full(len(d), -np.inf), np.full(len(d), np.inf)
    boundless = replace(d, x1=nowhere, y1=nowhere, x2=everywhere, y2=everywhere)
    affinity: dict[int, NDArray[np.float32]] = {}
    vectors = np.zeros((len(d), net.settings.width), np.float32)
    parts: dict[str, list[Groups]] = {AS_IS: [], TRUE_PAIRS: [], TRUE_GROUPING: []}
    for scored in score_frames(net, rig, d, s.grouping, s.half, extra):
        same = np.zeros(scored.affinity.shape, np.float32)
        for b, k in enumerate(scored.batch.tolist()):
            mine = whom[d.at(k)]
            n = len(mine)
            affinity[k], vectors[d.at(k)] = scored.affinity[b, :n, :n], scored.vectors[b, :n]
            shared = (mine[:, None, :, None] == mine[None, :, None]) & (mine >= 0)[:, None, :, None]
            same[b, :n, :n] = shared.any((2, 3))
        parts[AS_IS].append(group_scored(rig, d, scored, s.grouping))
        parts[TRUE_PAIRS].append(group_scored(rig, d, replace(scored, affinity=same), s.grouping))
        right = replace(scored, affinity=scored.affinity * same)
        parts[TRUE_GROUPING].append(group_scored(rig, boundless, right, lenient))
    exact = true_groups(rig, d, scene.truth)
    groups = {label: in_order(found, net.settings.width) for label, found in parts.items()}
    lost = fates(d, scene.truth, groups.pop(AS_IS), affinity, s.grouping)
    groups[TRUE_GROUPS] = replace(exact, embedding=mean_embedding(vectors, exact))
    runs = {label: link_groups(net, found, d, rig, s.tracker) for label, found in groups.items()}
    return runs, scored_pairs(rig, d, scene.truth, affinity, s.grouping.threshold), lost
