"""Every reader of pictures, on films that go wrong: the number in a picture is the number that is claimed for it.

The pictures carry their number. The films have B-frames, few key frames, frames that the camera lost, and a rate that
changes.
"""

import base64
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.frame import PictureType
from matplotlib.image import imread

from tests.detection.worlds import BITS, CELL, encode, numbered_picture, read_number
from trackfish3d.calibration.pictures import Source, read_pictures, video_step
from trackfish3d.cameras import CameraRig
from trackfish3d.detection.base import Detector, FrameDetections
from trackfish3d.detection.camera_job import PREVIEWS
from trackfish3d.detection.features.backbones import Backbone
from trackfish3d.detection.features.extract import extract
from trackfish3d.detection.masks.blobs import Blob
from trackfish3d.detection.masks.outlines import blob_from_mask
from trackfish3d.detection.pipeline import detect
from trackfish3d.detection.training.examples import self_labelled
from trackfish3d.detection.training.training_set import SetSettings
from trackfish3d.media.video import Picture, Video
from trackfish3d.recordings import Detections, Recording
from trackfish3d.report.thumbnails import thumbnails
from trackfish3d.synfish.rigs import random_rig

SIZE = (BITS * CELL, 48)
FRAMES, FIRST, OFFSET = 300, 100, 7
CODED = {"preset": "ultrafast", "crf": "12", "g": "80", "bf": "2", "sc_threshold": "0"}
LOST = [range(30, 34), range(131, 180), range(200, 207)]  # 60 frames


def film(folder: Path, kind: str) -> tuple[Path, list[int]]:
    """A film, and the time at which each of its numbered pictures was taken, ms."""
    if kind == "lost":
        kept = [k for k in range(FRAMES) if not any(k in gone for gone in LOST)]
        times = [40 * k for k in range(FRAMES)]
        shown = (numbered_picture(k) for k in kept)
        return encode(folder / "cam0.mp4", shown, pts=kept, time_base=Fraction(1, 25), fps=25, options=CODED), times
    gaps = [33] * 100 + [50] * 100 + [33] * 60 + [70] * 40
    times = np.cumsum([0, *gaps])[:FRAMES].tolist()
    pictures = (numbered_picture(k) for k in range(FRAMES))
    return encode(folder / "cam0.mkv", pictures, pts=times, time_base=Fraction(1, 1000), options=CODED), times


class World:
    """A recording with one film, and the judge of its readers."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.path, self.times = film(folder / "rec" / "videos", kind)
        self.kind, self.video = kind, Video.open(self.path)
        camera = replace(random_rig(2, 1)[0], name="cam0", size=SIZE)
        self.recording = Recording.create(
            folder / "rec", CameraRig((camera,)), fps=self.video.fps, frames=(FIRST, FRAMES),
            time_offset_frames={"cam0": OFFSET},
        )  # fmt: skip

    def judge(self, claimed: list[int], burnt_in: list[int]) -> None:
        """Each claim is the number that is burnt in; where the rate changes, the tick of the moment it was taken."""
        assert claimed
        assert len(set(burnt_in)) == len(burnt_in)
        if self.kind == "lost":
            assert claimed == burnt_in
            return
        ticks = [self.times[k] / 1000 * self.video.fps for k in burnt_in]
        np.testing.assert_allclose(claimed, ticks, rtol=0, atol=0.75)


@pytest.fixture(scope="module", params=["lost", "variable"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp(request.param), request.param)


def test_the_film_is_what_it_should_be(world: World) -> None:
    with av.open(str(world.path)) as container:
        kinds = [PictureType(f.pict_type).name for f in container.decode(video=0)]
    assert "B" in kinds
    assert kinds.count("I") < 6
    if world.kind == "lost":
        assert "60 frames were never recorded" in world.video.notes[0]
        assert world.video.count == FRAMES
    else:
        assert "variable frame rate" in world.video.notes[0]


@pytest.mark.parametrize("start", [0, 1, 30, 150, 207])
def test_reading_in_a_row(world: World, start: int) -> None:
    found = [(p.number, read_number(p.grey)) for p in world.video.read(start)]
    world.judge([n for n, _ in found], [b for _, b in found])


def test_reading_here_and_there(world: World) -> None:
    wanted = [0, 29, 31, 33, 90, 140, 181, 206, 250, world.video.count - 1]
    found = [(p.number, read_number(p.grey)) for p in world.video.at(wanted)]
    assert {n for n, _ in found} <= set(wanted)
    world.judge([n for n, _ in found], [b for _, b in found])
    near = [world.video.near(n) for n in wanted]
    assert [p.number for p in world.video.at(near)] == sorted(set(near))


def test_pictures_of_the_report(world: World, tmp_path: Path) -> None:
    found, problems = thumbnails(world.recording)
    assert problems == []
    claimed, burnt_in = [], []
    for picture in found["cam0"]:
        claimed.append(picture["frame"] - FIRST - OFFSET)
        (tmp_path / "x.jpg").write_bytes(base64.b64decode(picture["jpeg"]))
        with av.open(str(tmp_path / "x.jpg")) as container:
            burnt_in.append(read_number(next(container.decode(video=0)).to_ndarray(format="gray")))
    world.judge(claimed, burnt_in)
    assert len(claimed) >= 8  # spread over the film
    assert max(np.diff(claimed)) < FRAMES / 4


def test_pictures_of_a_calibration(world: World) -> None:
    source = Source("cam0", (world.path,))
    found = [(int(moment), read_number(grey)) for moment, grey in read_pictures(source, [], video_step([source]))]
    world.judge([n for n, _ in found], [b for _, b in found])


def cells(number: int) -> list[Blob]:
    """The bright cells of a picture as masks."""
    bright = numbered_picture(number)[..., 0] > 125
    masks = []
    for bit in range(BITS):
        mask = np.zeros_like(bright)
        mask[:, bit * CELL : (bit + 1) * CELL] = bright[:, bit * CELL : (bit + 1) * CELL]
        blob = blob_from_mask(mask)
        masks += [] if blob is None else [blob]
    return masks


class Reader(Detector):
    """Detects what number a picture carries: one animal, as far to the right as the number says."""

    name = "reader"

    def see(self, picture: Picture) -> FrameDetections:
        number = read_number(picture.grey)
        seen = FrameDetections.from_masks(cells(number)[:1], np.ones(min(1, len(cells(number)))))
        return replace(seen, columns=seen.columns | {"u": np.full(len(seen), float(number))})


def test_detections_and_previews(world: World) -> None:
    detect(world.recording, Reader(), workers=1)
    found = world.recording.detections
    world.judge((found.frame - FIRST - OFFSET).tolist(), found.u.astype(int).tolist())
    drawn = (255 * imread(world.recording.folder / "preview" / "cam0.png")[..., 0]).round()
    burnt_in = [read_number(panel[:, : SIZE[0]]) for panel in drawn.reshape(-1, SIZE[1], drawn.shape[1])]
    wanted = [world.video.near(round((k + 0.5) * world.video.count / PREVIEWS)) for k in range(PREVIEWS)]
    world.judge(wanted, burnt_in)


def test_examples_to_learn_from(world: World) -> None:
    found = [
        (int(example.name.split("_")[1]), read_number(example.rgb[..., 0]))
        for example in self_labelled({"cam0": world.video}, SetSettings(images=12, size=160, tile=None), Reader())
    ]
    world.judge([n for n, _ in found], [b for _, b in found])


def test_features_of_detections(world: World, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    numbers = sorted(p.number for p in world.video.read())
    left = np.tile(CELL * np.arange(BITS) + 4.0, len(numbers))
    detections = Detections.build(
        ("cam0",), np.repeat(numbers, BITS) + FIRST, np.zeros(len(left)), left + 3.5, np.full(len(left), 23.5),
        x1=left, y1=np.full(len(left), 20.0), x2=left + 7, y2=np.full(len(left), 27.0),
    )  # fmt: skip
    recording = Recording.open(world.recording.folder)
    recording.write_detections(iter([detections]))
    network = Backbone(lambda x: x.mean((2, 3))[:, :1], 1, (8, 8), [0.0] * 3, [1.0] * 3, "cpu")
    report = extract(recording, network, tmp_path / "f.npz", network={}, margin=0.0)
    assert report.missing == 0
    bright = np.load(tmp_path / "f.npz")["features"].reshape(-1, BITS)
    bright = bright > (bright.min() + bright.max()) / 2
    world.judge(numbers, (bright @ (1 << np.arange(BITS))).tolist())
