"""SLEAP: a recording session whose instance groups hold the 3D points and the 2D detections they came from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ...core.errors import InputError, MissingExtraError, TrackFishError
from ...core.files import atomic_path
from ...media.video import Video
from ..dense import animal_name
from ..detections import Detections
from ..recording import Recording
from ..tracks import Tracks


def write_slp(recording: Recording, tracks: Tracks, path: Path) -> list[str]:
    """Write one ``InstanceGroup`` for each point of each track.

    Points that came from no detection (filled gaps) are shown where they project to, with score 0. SLEAP counts the
    pictures that a video holds, so frames that a camera lost are left out of the count and of its views; without the
    videos, frames are numbered as the cameras counted them. Groups are numbered by the common clock. SLEAP's cameras
    have five distortion coefficients and no water: what goes beyond that is kept in their metadata, and said.
    """
    try:
        import sleap_io as sio
    except ImportError:
        raise MissingExtraError("sleap-io", "sleap", "writing SLEAP files") from None
    if not len(tracks):
        raise InputError("there is no track to write as SLEAP file")
    unknown = set(tracks.cameras) - set(recording.rig.names)
    if unknown:
        raise InputError(f"tracks name cameras that the recording has not: {', '.join(sorted(unknown))}")
    writer = _Writer(sio, recording, tracks)
    labels = writer.labels()
    with atomic_path(path) as temporary:
        temporary.unlink()
        sio.save_slp(labels, str(temporary), verbose=False)
    notes = writer.notes
    if recording.rig.refractive:
        notes.append("SLEAP knows no refraction: it cannot triangulate these 2D points again as they are")
    if any(np.any(c.distortion[5:]) or c.fisheye for c in recording.rig):
        notes.append("SLEAP's cameras have 5 distortion coefficients: the full ones are in their metadata")
    return notes


class _Writer:
    """Builds the objects of one file, each camera's frames and instances once."""

    def __init__(self, sio: Any, recording: Recording, tracks: Tracks) -> None:
        self.sio, self.recording, self.tracks = sio, recording, tracks
        self.skeleton = sio.Skeleton(nodes=["centroid"], name="animal")
        self.identities = tracks.identities.tolist()
        self.sleap_tracks = {t: sio.Track(name=animal_name(t)) for t in self.identities}
        self.cameras = [sleap_camera(sio, c) for c in recording.rig]
        videos = recording.videos
        self.videos = [
            sio.Video(filename=str(videos.get(n, Path(f"videos/{n}.mp4"))), open_backend=False)
            for n in recording.rig.names
        ]
        self.notes: list[str] = []
        self.pictures = [self._pictures(n, videos.get(n)) for n in recording.rig.names]
        self.columns = [recording.rig.index(n) for n in tracks.cameras]
        self.detections: Detections | None = recording.detections if np.any(tracks.detection >= 0) else None
        self.projected = [c.project(tracks.position) for c in recording.rig]
        if self.detections is not None and tracks.detection.max() >= len(self.detections):
            raise InputError(f"{recording.folder}: tracks point at detections that are not there; track it again")

    def labels(self) -> Any:
        """All labelled frames, tracks and the session."""
        sio, tracks = self.sio, self.tracks
        session = sio.RecordingSession(camera_group=sio.CameraGroup(cameras=self.cameras))
        for video, camera in zip(self.videos, self.cameras, strict=True):
            session.add_video(video, camera)
        labelled: list[Any] = []
        bounds = np.append(np.flatnonzero(np.diff(tracks.frame, prepend=tracks.frame[0] - 1)), len(tracks))
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            frame = int(tracks.frame[start])
            seen: dict[int, list[Any]] = {}
            places = [count(frame) for count in self.pictures]
            groups = [self._group(row, seen, places) for row in range(start, end)]
            frames = {
                c: sio.LabeledFrame(video=self.videos[c], frame_idx=max(places[c], 0), instances=found)
                for c, found in sorted(seen.items())
            }
            labelled += frames.values()
            session.frame_groups[frame] = sio.FrameGroup(
                frame_idx=frame,
                instance_groups=groups,
                labeled_frame_by_camera={self.cameras[c]: f for c, f in frames.items()},
            )
        return sio.Labels(
            labeled_frames=labelled,
            videos=self.videos,
            skeletons=[self.skeleton],
            tracks=list(self.sleap_tracks.values()),
            sessions=[session],
        )

    def _pictures(self, name: str, path: Path | None) -> Callable[[int], int]:
        """Return what turns a frame of the common clock into the picture of a camera's video, -1 where it was lost."""
        info = self.recording.info
        offset = info.time_offset_frames.get(name, 0)
        try:
            video = None if path is None else Video.open(path)
        except TrackFishError as error:
            self.notes.append(
                f"camera {name}: pictures are counted as frames, because its video cannot be read ({error})"
            )
            video = None
        if video is None:
            return lambda frame: frame - offset
        if len(video.chapters) > 1:
            self.notes.append(
                f"camera {name}: SLEAP knows no film in chapters; pictures are counted through all of them"
            )
        numbers = video.numbers
        lost = video.count - len(numbers)
        if lost:
            self.notes.append(f"camera {name}: {lost} frames have no picture, and no view in the file")
        place = {int(n): k for k, n in enumerate(numbers)}
        first = info.first_frame + offset
        return lambda frame: place.get(frame - first, -1)

    def _pixels(self, row: int) -> dict[int, tuple[NDArray[np.float64], float]]:
        """Pixel (2,) and score in each view: the detections used or, where there is none, the projected point.

        sleap-io keeps no 3D point without a 2D instance. Projected ones have score 0; a point that no camera can see
        has a pixel of NaN in the first.
        """
        used = {c: int(self.tracks.detection[row, k]) for k, c in enumerate(self.columns)}
        if self.detections is not None and any(k >= 0 for k in used.values()):
            centroids, score = self.detections.centroids, self.detections.score
            return {c: (centroids[k], float(score[k])) for c, k in used.items() if k >= 0}
        inside = {c: (p[row], 0.0) for c, p in enumerate(self.projected) if np.isfinite(p[row]).all()}
        return inside or {0: (np.full(2, np.nan), 0.0)}

    def _group(self, row: int, seen: dict[int, list[Any]], places: list[int]) -> Any:
        """Make the group of one point of one track; its 2D instances are added to `seen`, by camera."""
        sio, tracks = self.sio, self.tracks
        track, score = int(tracks.track[row]), float(tracks.confidence[row])
        views = {}
        shown = {c: at for c, at in self._pixels(row).items() if places[c] >= 0}
        if not shown:
            shown = {c: (p[row], 0.0) for c, p in enumerate(self.projected) if places[c] >= 0}
        for camera, (pixel, sure) in (shown or {0: (np.full(2, np.nan), 0.0)}).items():
            instance = sio.PredictedInstance.from_numpy(
                pixel[None],
                skeleton=self.skeleton,
                point_scores=np.array([sure]),
                score=sure,
                track=self.sleap_tracks[track],
            )
            seen.setdefault(camera, []).append(instance)
            views[self.cameras[camera]] = instance
        point = sio.PredictedInstance3D(
            points=tracks.position[row][None],
            skeleton=self.skeleton,
            score=None if np.isnan(score) else score,
            point_scores=[score],
        )
        about = {"track": animal_name(track), "observed": bool(tracks.observed[row])}
        return sio.InstanceGroup(instance_by_camera=views, instance_3d=point, metadata=about)


def sleap_camera(sio: Any, camera: Any) -> Any:
    """Return a camera as sleap-io has them."""
    distortion = np.zeros(5)
    if not camera.fisheye:
        distortion[: min(5, len(camera.distortion))] = camera.distortion[:5]
    return sio.Camera(
        matrix=camera.K,
        dist=distortion,
        size=camera.size,
        rvec=Rotation.from_matrix(camera.R).as_rotvec(),
        tvec=camera.t,
        name=camera.name,
        metadata={"distortion": camera.distortion.tolist(), "fisheye": camera.fisheye},
    )
