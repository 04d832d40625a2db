"""Valid files of every reader: small, so that many cases fit into a second; real ones where there are some."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.cameras import formats_samples
from tests.recordings.pose_files import WRITERS as POSES
from tests.recordings.test_pose_importers import deeplabcut_frame, poses, sleap_labels
from tests.recordings.worlds import random_detections, tracked_recording
from tests.recordings.writers import write_coco, write_csv, write_mot

from trackfish3d.methods.suspects import Suspect, write_suspects
from trackfish3d.recordings import Poses, Skeleton, Truth, write_poses, write_table
from trackfish3d.recordings.edits import Editor

REAL = os.environ.get("TRACKFISH3D_DATA")
LINES = 12  # of a real table


def calibrations(folder: Path) -> dict[str, Path]:
    """One valid calibration of every format, by its name."""
    made = formats_samples.write_all(folder)
    if REAL:
        for name, source in (
            ("json-real", "bristol/cameras.json"), ("zef-real", "zef/02/cameras.json"),
            ("dlt-real", "bats/dlt_coefficients.csv"), ("anipose-real", "rat/calibration.toml"),
        ):  # fmt: skip
            made[name] = _copied(Path(REAL) / source, folder / name)
    return made


def detections(folder: Path) -> dict[str, Path]:
    """One valid file of detections of every format."""
    folder.mkdir(parents=True)
    found = random_detections(2, n=6, frames=3)
    run = {"size": [480, 640], "counts": "0`a0100d0"}
    masks = [[[1, 1, 9, 1, 9, 9]], run, {"size": [4, 4], "counts": [3, 5, 8]}, [], None, [[1, 1]]]
    table = deeplabcut_frame(poses(2, frames=3), True)
    table.to_csv(folder / "dlc.csv")
    table.to_hdf(folder / "dlc.h5", key="df_with_missing", format="table", mode="w")
    sleap_labels({"top": poses(1, frames=2)}, ["a.mp4"]).save(str(folder / "top.slp"), verbose=False)
    pq.write_table(found.to_table(), folder / "d.parquet")
    (folder / "xypts.csv").write_text("pt1_cam1_X,pt1_cam1_Y,pt2_cam2_X,pt2_cam2_Y\n1,2,3,4\nNaN,NaN,5,6\n")
    (folder / "labels").mkdir()
    yolo = folder / "labels" / "7.txt"
    yolo.write_text("0 0.5 0.5 0.1 0.1 0.9\n0 0.1 0.1 0.2 0.1 0.2 0.2\n0 0.1 0.1 0.2 0.1 0.2 0.2 0.5\n")
    made = {
        "csv": write_csv(found, folder / "d.csv"),
        "parquet": folder / "d.parquet",
        "mot": write_mot(found, "top", folder / "d.txt"),
        "coco": write_coco(found, folder / "d.json", masks),
        "deeplabcut": folder / "dlc.csv",
        "deeplabcut-hdf5": folder / "dlc.h5",
        "sleap": folder / "top.slp",
        "dltdv": folder / "xypts.csv",
        "yolo": yolo,
    }
    for name, write in POSES.items():
        home = folder / name
        home.mkdir()
        path = write(home, poses(2, frames=3))
        made[f"parts-{name}"] = sorted(path.glob("*.json"))[1] if path.is_dir() else path
    made["parts-deeplabcut"], made["parts-sleap"] = folder / "dlc.csv", folder / "top.slp"
    if REAL:
        made["csv-real"] = _head(Path(REAL) / "zef/02/detections_yolox.csv", folder / "zef.csv")
        made["dltdv-real"] = _head(next((Path(REAL) / "bats").glob("*xypts.csv")), folder / "bats.csv")
        made["sleap-real"] = _copied(Path(REAL) / "rat/top.slp", folder / "rat")
    return made


def poses_3d(folder: Path) -> dict[str, Path]:
    """Poses in 3D, as Parquet and as text."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    found = Poses.build([0, 0, 1], [0, 1, 0], rng.normal(size=(3, 2, 3)), Skeleton(("a", "b"), ((0, 1),)))
    made = {f"poses-{kind}": folder / f"p.{kind}" for kind in ("parquet", "csv")}
    for path in made.values():
        write_poses(found, path)
    return made


def tables(folder: Path) -> dict[str, Path]:
    """Clocks, truth, tracks, tanks as text."""
    folder.mkdir(parents=True)
    texts = {
        "manifest": (
            "study.csv",
            "recording,videos,calibration,group,animals,fps\nr1,a=a.mp4;b.mp4,c.toml,x,3,30\nr2,,,y,,\n",
        ),
        "timestamps": ("clock.csv", "frame,time\n1,0.1\n2,0.2\n3,0.35\n"),
        "truth": ("truth.csv", "frame,id,x,y,z\n1,1,1,2,3\n1,2,4,5,6\n2,1,1.5,2,3\n"),
        "truth-zef": (
            "zef.csv",
            "frame,id,x,y,z,u1,v1,l1,t1,w1,h1,occ1,u2,v2,l2,t2,w2,h2,occ2\n"
            "1,1,1,2,3,10,20,5,15,10,10,0,30,40,25,35,10,10,1\n2,1,1,2,3,10,20,5,15,10,10,0,30,40,25,35,10,10,0\n",
        ),
        "truth-dltdv": ("xyzpts.csv", "pt1_X,pt1_Y,pt1_Z,pt2_X,pt2_Y,pt2_Z\n1,2,3,4,5,6\nNaN,NaN,NaN,4,5,6\n"),
        "tracks": ("tracks.csv", "object,Timestamp,X,Y,Z,group\nA,1,1.5,2.5,3.5,2\nB,1,4,5,6,2\nA,2,1.6,2.5,3.5,1\n"),
        "tracks-zef": ("tracks.txt", "1,1,1.5,2.5,3.5\n1,2,4,5,6\n2,1,1.6,2.5,3.5\n"),
        "mot-tracks": ("tracks_mot.txt", "1,1,10.5,20.5,5,6,0.9,-1,-1,-1\n1,2,40,50,5,6,0.8,-1,-1,-1\n2,1,11,21,5,6\n"),
        "tank-points": ("tank.csv", "camera,u,v,x,y,z,sigma\ntop,1,2,3,4,5,0.5\nfront,1,2,3,4,5,\n"),
        "tank": (
            "tank.toml",
            'units = "cm"\nwater_index = 1.333\nfree = ["index"]\n[[surface]]\npoint = [0.0, 0.0, 1.0]\n'
            'normal = [0.0, 0.0, 1.0]\ncameras = ["top"]\nfree = ["height"]\n'
            "[[point]]\nworld = [1.0, 2.0, 3.0]\nsigma = 0.5\n[point.pixel]\ntop = [10.0, 20.0]\n",
        ),
    }
    made = {}
    for name, (file, text) in texts.items():
        made[name] = folder / file
        made[name].write_text(text)
    if REAL:
        made["truth-real"] = _head(Path(REAL) / "zef/02/ground_truth_head.csv", folder / "zef_real.csv")
        made["truth-dltdv-real"] = _head(next((Path(REAL) / "bats").glob("*xyzpts.csv")), folder / "bats_real.csv")
    return made


def recording(folder: Path) -> Path:
    """A whole recording with truth, tracks, settings and a journal."""
    made = tracked_recording(folder, offset=2)
    tracks = made.tracks
    truth = Truth.build(
        tracks.frame, tracks.track, tracks.position, cameras=made.rig.names,
        u=np.ones((len(tracks), 2)), v=np.ones((len(tracks), 2)), visible=np.ones((len(tracks), 2)),
        detection=tracks.detection, heading=np.tile([1.0, 0, 0], (len(tracks), 1)),
    )  # fmt: skip
    write_table(truth.to_table(), folder / "truth.parquet")
    settings = {"method": "joint", "settings": {"a": 1.5, "b": None}, "trackfish3d": "0.1.0"}
    (folder / "tracks.settings.json").write_text(json.dumps(settings, indent=1))
    (folder / "run.json").write_text(json.dumps({"track": {"key": "0" * 64, "line": "3 tracks"}}, indent=1))
    return folder


def edits(folder: Path) -> Path:
    """A recording whose tracks were mended in every way."""
    editor = Editor(tracked_recording(folder))
    editor.swap(2, 5, 12, 20)
    editor.cut(11, 20)
    editor.rename(5, 40)
    editor.delete(2, 9, 10)
    editor.add_point(2, 9, {"top": (300.0, 200.0), "front": (250.0, 200.0)})
    editor.fill(2)
    editor.accept(2, 12, 20, 40)
    editor.undo()
    editor.redo()
    write_suspects([Suspect(9, 14, 2, 5, 0.4, "swap"), Suspect(20, 22, 11, 11, 0.1, "gap")], folder / "suspects.csv")
    return folder


def videos(folder: Path) -> dict[str, Path]:
    """Films of 12 small pictures: H.264 in MP4, Motion JPEG in AVI, FFV1 in Matroska, with metadata."""
    import av

    folder.mkdir(parents=True)
    rng = np.random.default_rng(3)
    pictures = rng.integers(0, 256, (12, 48, 64, 3), dtype=np.uint8)
    made = {}
    for kind, codec, pixels in (
        ("mp4", "libx264", "yuv420p"),
        ("avi", "mjpeg", "yuvj420p"),
        ("mkv", "ffv1", "yuv420p"),
    ):
        made[kind] = folder / f"film.{kind}"
        with av.open(str(made[kind]), "w") as container:
            container.metadata["title"] = "tank é"
            stream = container.add_stream(codec, rate=25)
            stream.width, stream.height, stream.pix_fmt = 64, 48, pixels
            stream.metadata["language"] = "eng"
            for picture in pictures:
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            container.mux(stream.encode())
    return made


def chapters(folder: Path, film: Path) -> Path:
    """A film in two files, with a list of them."""
    folder.mkdir(parents=True)
    for name in ("0001.mp4", "0002.mp4"):
        shutil.copyfile(film, folder / name)
    (folder / "chapters.json").write_text('["0001.mp4", 25, "0002.mp4"]\n')
    return folder / "chapters.json"


def features(folder: Path, rows: int) -> dict[str, Path]:
    """Features of `rows` detections in both formats, and crops of them."""
    from trackfish3d.methods.baselines.learned.crops import SIZE, write_crops

    folder.mkdir(parents=True)
    values = np.random.default_rng(4).normal(size=(rows, 3)).astype(np.float32)
    np.savez_compressed(folder / "features.npz", values=values)
    write_crops(folder / "crops.npz", np.zeros((rows, 3, SIZE, SIZE), np.uint8))
    pq.write_table(pa.table({f"f{k}": values[:, k] for k in range(3)}), folder / "features.parquet")
    return {f"{p.stem}-{p.suffix[1:]}": p for p in sorted(folder.iterdir())}


def models(folder: Path) -> dict[str, Path]:
    """Tiny networks of both methods that have one, and the weights of a rival."""
    import torch

    from trackfish3d.methods.baselines.learned.selfmva import SelfMVANet
    from trackfish3d.methods.baselines.learned.weights import save_weights
    from trackfish3d.methods.joint.learning.checkpoint import save_pairs
    from trackfish3d.methods.joint.learning.network import PairNet, PairSettings
    from trackfish3d.methods.paper.checkpoint import save_model
    from trackfish3d.methods.paper.network import TrackFishNet
    from trackfish3d.methods.paper.settings import ModelSettings

    folder.mkdir(parents=True)
    torch.manual_seed(0)
    small = PairSettings(width=8, layers=1, heads=1, feed_forward=8, pair_width=8)
    save_pairs(PairNet(small), folder / "pairs.safetensors")
    save_model(
        TrackFishNet(ModelSettings(hidden=8, width=8, layers=1, heads=1, feed_forward=8)),
        folder / "paper.safetensors",
        3,
    )
    save_weights(SelfMVANet(), folder / "selfmva.safetensors", "selfmva")
    return {f"model-{p.stem}": p for p in sorted(folder.iterdir())}


def _copied(source: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(source, folder / source.name))


def _head(source: Path, target: Path) -> Path:
    with source.open("rb") as file:
        target.write_bytes(b"".join(line for line, _ in zip(file, range(LINES), strict=False)))
    return target
