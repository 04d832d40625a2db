"""One camera and no calibration: detections and tracks in pixels, for the calibration that comes later."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv
import pytest

import trackfish3d as tf
from tests.detection.worlds import encode, swimming
from tests.poses.schools import school
from trackfish3d.cli.app import main
from trackfish3d.methods.view_links import link_views
from trackfish3d.pipeline.flat import Flat
from trackfish3d.recordings import Detections
from trackfish3d.recordings.importers import read_detections

FRAMES, SIZE = 60, (200, 150)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """A film in two chapters, and where its three animals are (F, 3, 2), px."""
    folder = tmp_path_factory.mktemp("film") / "cam"
    pictures, masks = swimming(FRAMES, SIZE)
    encode(folder / "GX010007.MP4", pictures[:25], fps=20)
    encode(folder / "GX020007.MP4", pictures[25:], fps=20)
    y, x = np.mgrid[: SIZE[1], : SIZE[0]]
    area = masks.sum((2, 3))
    return folder, np.stack([(masks * x).sum((2, 3)) / area, (masks * y).sum((2, 3)) / area], axis=2)


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(a) for a in arguments])
    return int(stopped.value.code or 0)


def test_a_film_alone_gives_detections_and_tracks(
    film: tuple[Path, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, true = film
    monkeypatch.chdir(tmp_path)
    assert run("detect", folder, "--workers", 1) == 0
    said = capsys.readouterr().out
    assert "3 tracks in pixels" in said
    table = pacsv.read_csv("cam_2d/tracks2d.csv").to_pydict()
    assert set(table["camera"]) == {"cam"}
    assert sorted(set(table["track"])) == [0, 1, 2]
    assert run("track", "cam_2d") == 2
    assert "films of no known cameras" in capsys.readouterr().err
    owner = []
    for track, frame, time, u, v in zip(*(table[n] for n in ("track", "frame", "time_s", "u_px", "v_px")), strict=True):
        away = np.hypot(*(true[frame] - [u, v]).T)
        assert away.min() < 2.5
        assert time == pytest.approx(frame / 20)
        owner.append((track, int(away.argmin())))
    assert len(set(owner)) == 3  # every track is one animal
    assert (tmp_path / "cam_2d/preview/cam.png").is_file()
    assert [i["path"] for i in tf_provenance(tmp_path / "cam_2d")["detect"]["inputs"]] == [
        str(folder / n) for n in ("GX010007.MP4", "GX020007.MP4")
    ]
    assert run("detect", folder) == 2
    assert "has detections already" in capsys.readouterr().err


def tf_provenance(folder: Path) -> dict:
    from trackfish3d.core import provenance

    return provenance.read(folder)


def test_python_does_the_same_and_import_takes_it_later(film: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    from dataclasses import replace

    folder, _ = film
    found = tf.detect_films(
        {"top": folder, "front": folder / "GX010007.MP4"}, tmp_path / "out", workers=1, previews=False
    )
    assert [found.of_camera(n)[2] for n in ("top", "front")] == [3, 3]
    assert "top: " in repr(found)
    cameras = (replace(c, name=n, size=SIZE) for c, n in zip(tf_rig(), ("top", "front"), strict=True))
    rig = tf.CameraRig(tuple(cameras))
    made = tf.import_recording(rig, tmp_path / "out" / "detections.parquet", tmp_path / "rec", fps=20)
    np.testing.assert_array_equal(made.detections.frame, found.detections.frame)
    np.testing.assert_allclose(made.detections.u, found.detections.u)
    with pytest.raises(tf.InputError, match="is a recording"):
        tf.detect_films(folder, tmp_path / "rec")


def tf_rig() -> tuple:
    from trackfish3d.synfish.rigs import random_rig

    return tuple(random_rig(2, 1))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.avi"], "nowhere.avi: no such video"),
        (["a.avi", "x/a.avi"], "two films of a; write CAMERA=FILM"),
        ([".."], "is a folder without a video"),
    ],
)
def test_what_is_no_film_is_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert run("detect", *arguments) == 2
    assert said in capsys.readouterr().err
    assert list((tmp_path / "here").iterdir()) == []


def test_tracks_in_pixels_survive_a_crossing_and_a_gap() -> None:
    frames = np.arange(80)
    one = np.column_stack([20 + 4.0 * frames, 100 + 0 * frames])
    two = np.column_stack([340 - 4.0 * frames, 103 + 0 * frames])
    keep = ~((frames >= 50) & (frames < 58))  # the second is out of sight
    frame = np.concatenate([frames, frames[keep]])
    pixel = np.concatenate([one, two[keep]])
    who = np.repeat([0, 1], [80, keep.sum()])
    u, v = pixel.T
    found = Detections.build(("top",), frame, np.zeros(len(frame), int), u, v, u - 10, v - 10, u + 10, v + 10)
    track = link_views(found)
    side = {}
    for k in range(len(found)):
        name = who[np.flatnonzero((frame == found.frame[k]) & (pixel == [found.u[k], found.v[k]]).all(1))[0]]
        side.setdefault(int(track[k]), set()).add(int(name))
    assert sorted(side.values(), key=str) == [{0}, {1}]


def test_parts_of_films_are_kept_with_their_tracks_for_the_import(tmp_path: Path) -> None:
    made = school(fish=3, frames=20)
    found = made.detections
    assert found.parts is not None
    flat = Flat(tmp_path, found, link_views(found), dict.fromkeys(found.cameras, 30.0), [])
    assert flat.poses is not None
    pacsv.write_csv(flat.poses, tmp_path / "poses2d.csv")
    back = read_detections(tmp_path / "poses2d.csv", made.rig)
    seen = np.isfinite(found.parts[..., 0]).any(1)
    assert back.skeleton is not None
    assert found.skeleton is not None
    order = [back.skeleton.index(p) for p in found.skeleton.parts]
    np.testing.assert_allclose(back.parts[:, order], found.parts[seen], atol=1e-3)
    assert back.tracklet is not None
    pairs = set(zip(flat.track[seen].tolist(), found.camera[seen].tolist(), back.tracklet.tolist(), strict=True))
    assert len(pairs) == len({p[:2] for p in pairs}), "a 2D track keeps one number"
    assert Flat(tmp_path, replace(found, parts=None, skeleton=None), flat.track, flat.fps, []).poses is None
