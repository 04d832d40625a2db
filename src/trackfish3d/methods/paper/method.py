"""Method ``paper``: TrackFish3D as published, with a trained network."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...cameras import CameraRig
from ...core.device import pick_device
from ...core.errors import InputError, MissingExtraError
from ...core.progress import Progress
from ...recordings import Detections, Tracks
from ..base import Method, MethodSettings
from ..groups import Groups, groups_to_tracks
from ..result import Result
from ..scale import box_size
from .features import GEOMETRIC, read_features
from .settings import GroupingSettings
from .tracker import PaperTracker, TrackerSettings

if TYPE_CHECKING:
    from .network import TrackFishNet


class PaperSettings(MethodSettings):
    """Settings of the published inference."""

    model: Path | None = Field(None, description="trained network (.safetensors); None: the shipped one")
    features: Path | None = Field(None, description="file of more features of the detections (.npz, .parquet)")
    learn: int = Field(0, ge=0, description="epochs of learning, without labels, on the recording before tracking it")
    seed: int = Field(0, ge=0, description="of learning")
    device: str = Field("auto", description="auto, cpu, cuda or mps")
    half: bool = Field(False, description="16-bit floats in the network, on a GPU")
    grouping: GroupingSettings = Field(default_factory=GroupingSettings)
    tracker: TrackerSettings = Field(default_factory=TrackerSettings)


class Paper(Method):
    """Pass 1 groups every frame with the network, pass 2 links the groups, pass 2.5 stitches the fragments."""

    name: ClassVar[str] = "paper"
    Settings: ClassVar[type[Any]] = PaperSettings

    def run(self, rig: CameraRig, detections: Detections, fps: float, progress: Progress) -> Result:
        """Track with the network that the setting `model` names, after learning if that was asked for."""
        s: PaperSettings = self.settings
        if not box_size(detections):
            raise InputError(
                "method paper needs boxes, into which the point of a group must fall; import points with --box-size"
            )
        frames = len(detections.frames)
        every = frames * (1 + s.learn)
        extra = self.extra_features(detections)
        net = self.network(rig, detections, extra, lambda epoch: progress(epoch * frames, every))
        from .inference import group_frames

        groups = group_frames(
            net,
            rig,
            detections,
            s.grouping,
            lambda done, _: progress(s.learn * frames + done, every),
            s.half,
            extra,
        )
        return Result(link_groups(net, groups, detections, rig, s.tracker))

    def extra_features(self, detections: Detections) -> NDArray[np.float32] | None:
        """Features beside the geometric ones (N, E), from the file that the settings name."""
        s: PaperSettings = self.settings
        return None if s.features is None else read_features(s.features, detections)

    def network(
        self,
        rig: CameraRig,
        detections: Detections,
        extra: NDArray[np.float32] | None,
        epoch_done: Callable[[int], None] | None = None,
    ) -> "TrackFishNet":
        """Return the network that tracks this recording: the model's, or what it becomes by learning on it."""
        s: PaperSettings = self.settings
        columns = 0 if extra is None else extra.shape[1]
        if not s.learn:
            return load_network(rig, s.model, s.device, columns)
        try:
            base = load_network(rig, s.model, s.device, columns)
        except InputError:
            if s.model is not None:
                raise
            base = None  # the shipped network does not fit: learn from nothing
        from .train.finetune import learn_on

        def report(row: dict[str, float]) -> None:
            if epoch_done is not None:
                epoch_done(int(row["epoch"]))

        return learn_on(rig, detections, base, s.learn, s.device, s.seed, report, extra)


def load_network(rig: CameraRig, model: Path | None, device: str, columns: int = 0) -> "TrackFishNet":
    """Load a network for this rig, and so many features beside the geometric ones, onto a device.

    `model` None is the shipped one.
    """
    try:
        from .checkpoint import load_model, shipped_model
    except ImportError:
        raise MissingExtraError("PyTorch", "learn", "method paper") from None
    chosen = pick_device(device)
    net, n_cameras = load_model(model or shipped_model())
    if n_cameras != len(rig):
        raise InputError(
            f"{model or 'the shipped model'}: was trained for {n_cameras} cameras, the recording has {len(rig)}; "
            "train on recordings of this rig with 'trackfish3d train', or add --learn"
        )
    wanted = net.settings.raw_features - GEOMETRIC
    if wanted != columns:
        raise InputError(
            f"{model or 'the shipped model'}: takes {wanted} features beside the geometric ones, {columns} are given; "
            "see the setting 'features'"
        )
    return net.to(chosen)


def link_groups(
    net: "TrackFishNet", groups: Groups, detections: Detections, rig: CameraRig, settings: TrackerSettings
) -> Tracks:
    """Pass 2 and 2.5: tracks of groups that carry embeddings."""
    from .inference import predictor

    tracker = PaperTracker(settings, predictor(net))
    number = np.full(len(groups), -1, np.int64)
    assert groups.embedding is not None
    starts = np.searchsorted(groups.frame, detections.frames).tolist()
    ends = np.searchsorted(groups.frame, detections.frames, "right").tolist()
    for frame, a, b in zip(detections.frames.tolist(), starts, ends, strict=True):
        number[a:b] = tracker.update(frame, groups.position[a:b], groups.embedding[a:b])
    return groups_to_tracks(rig, detections, groups, tracker.finish()[number], groups.confidence)
