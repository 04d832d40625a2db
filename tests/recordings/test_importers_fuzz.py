"""Whatever is in a file, reading it gives detections or an InputError that names it: no other error comes out."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trackfish3d.core.errors import InputError
from trackfish3d.recordings.importers import FORMATS, import_truth, read_detections, read_timestamps
from trackfish3d.recordings.importers.read import READERS

from .fuzz import assert_input_error_or_fine, damaged
from .pose_files import write_pose_table
from .test_pose_importers import deeplabcut_frame, poses, sleap_labels
from .worlds import make_rig, random_detections
from .writers import write_coco, write_csv, write_mot

pytest.importorskip("tables", reason="a file of every format is written, DeepLabCut's too")
pytest.importorskip("sleap_io")

RIG = make_rig()
SUFFIX = {"csv": ".csv", "mot": ".txt", "coco": ".json", "parquet": ".parquet", "sleap": ".slp", "dltdv": ".csv"}
fuzzed = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["id", "image_id", "bbox", "score", "segmentation", "counts", "size", "file_name", "frame_id"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


class Valid(dict[str, bytes]):
    """Valid files by format; failures need not print them all."""

    def __repr__(self) -> str:
        return "valid"


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Valid:
    """A small valid file of each format."""
    folder = tmp_path_factory.mktemp("valid")
    found = random_detections(2, n=6, frames=3)
    run = {"size": [480, 640], "counts": "0`a0100d0"}
    segmentation = [[[1, 1, 9, 1, 9, 9]], run, {"size": [4, 4], "counts": [3, 5, 8]}, [], None, [[1, 1]]]
    import pyarrow.parquet as pq

    pq.write_table(found.to_table(), folder / "d.parquet")
    table = deeplabcut_frame(poses(2, frames=3), True)
    table.to_csv(folder / "dlc.csv")
    table.to_hdf(folder / "d.h5", key="df_with_missing", format="table", mode="w")
    sleap_labels({"top": poses(1, frames=2)}, ["a.mp4"]).save(str(folder / "d.slp"), verbose=False)
    files = {
        "csv": write_csv(found, folder / "d.csv").read_bytes(),
        "parquet": (folder / "d.parquet").read_bytes(),
        "mot": write_mot(found, "top", folder / "d.txt").read_bytes(),
        "coco": write_coco(found, folder / "d.json", segmentation).read_bytes(),
        "deeplabcut": (folder / "dlc.csv").read_bytes(),
        "d.slp": (folder / "d.slp").read_bytes(),
        "d.h5": (folder / "d.h5").read_bytes(),
        "poses": write_pose_table(folder, poses(2, frames=3)).read_bytes(),
        "dltdv": b"pt1_cam1_X,pt1_cam1_Y,pt2_cam2_X,pt2_cam2_Y\n1,2,3,4\nNaN,NaN,5,6\n",
    }
    return Valid(files)


def read_quietly(path: Path, format: str | None, **options: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        read_detections({"top": path}, RIG, format, keypoint="mean", sort=True, **options)


@pytest.mark.parametrize(
    "format", [f for f in FORMATS if f not in ("yolo", "sleap", "sleap-analysis", "openpose", "movement")]
)
@fuzzed
@given(data=st.data(), sniffed=st.booleans())
def test_damaged_files(tmp_path: Path, valid: Valid, format: str, data: st.DataObject, sniffed: bool) -> None:
    path = tmp_path / f"d{SUFFIX.get(format, '.csv')}"
    path.write_bytes(data.draw(damaged(valid[format])))
    assert_input_error_or_fine(lambda: read_quietly(path, None if sniffed else format), path)


@pytest.mark.parametrize("name", ["d.slp", "d.h5"])
@fuzzed
@given(data=st.data())
def test_hdf5_cut_short_or_of_random_bytes(tmp_path: Path, valid: Valid, name: str, data: st.DataObject) -> None:
    """Bytes changed in the middle are left out: the HDF5 library itself can crash on those."""
    path = tmp_path / name
    damage = data.draw(damaged(valid[name], ("random", "cut")))
    path.write_bytes(data.draw(st.sampled_from([b"", b"\x89HDF\r\n\x1a\n"])) + damage if len(damage) < 300 else damage)
    assert_input_error_or_fine(lambda: read_quietly(path, None), path)


@pytest.mark.parametrize("format", ["sleap", "deeplabcut"])
@fuzzed
@given(
    content=st.dictionaries(
        st.sampled_from(["metadata", "frames", "instances", "points", "tracks_json", "videos_json", "df"]),
        st.lists(st.integers(0, 9), max_size=4) | st.text("abc{}[]", max_size=6),
    ),
    json_text=JSON,
)
def test_hdf5_with_other_things_inside(tmp_path: Path, format: str, content: dict, json_text: object) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "d.h5"
    with h5py.File(path, "w") as file:
        file.create_group("metadata_").attrs["json"] = "{}"
        for key, value in content.items():
            file[key] = value
        if "metadata" in content:
            file["metadata"].attrs["json"] = json.dumps(json_text)
            file["metadata"].attrs["format_id"] = 1.2
    assert_input_error_or_fine(lambda: read_quietly(path, format), path)


@fuzzed
@given(data=st.data())
def test_damaged_yolo(tmp_path: Path, data: st.DataObject) -> None:
    lines = b"0 0.5 0.5 0.1 0.1 0.9\n0 0.1 0.1 0.2 0.1 0.2 0.2\n0 0.1 0.1 0.2 0.1 0.2 0.2 0.5 3\n"
    (tmp_path / "7.txt").write_bytes(data.draw(damaged(lines)))
    assert_input_error_or_fine(lambda: read_quietly(tmp_path, "yolo"), tmp_path)


@fuzzed
@given(images=st.lists(JSON, max_size=3) | JSON, annotations=st.lists(JSON, max_size=3) | JSON)
def test_json_that_is_not_coco(tmp_path: Path, images: object, annotations: object) -> None:
    path = tmp_path / "d.json"
    for content in (annotations, {"images": images, "annotations": annotations}):
        path.write_text(json.dumps(content))
        assert_input_error_or_fine(lambda: read_quietly(path, "coco"), path)


@fuzzed
@given(segmentation=JSON, box=st.lists(st.floats(-1e300, 1e300), min_size=4, max_size=4), score=JSON)
def test_coco_with_bad_values(tmp_path: Path, segmentation: object, box: list[float], score: object) -> None:
    path = tmp_path / "d.json"
    annotation = {"image_id": 1, "bbox": box, "score": score, "segmentation": segmentation}
    path.write_text(json.dumps({"images": [{"id": 1, "frame_id": 3}], "annotations": [annotation]}))
    assert_input_error_or_fine(lambda: read_quietly(path, "coco"), path)


@fuzzed
@given(data=st.data())
def test_damaged_timestamps_and_truth(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "t.csv"
    clock, truth = b"frame,time\n1,0.1\n2,0.2\n", b"pt1_X,pt1_Y,pt1_Z\n1,2,3\nNaN,NaN,NaN\n"
    zef = b"frame,id,x,y,z,u1,v1,u2,v2\n1,1,1,2,3,10,20,30,40\n"
    path.write_bytes(data.draw(damaged(clock)))
    assert_input_error_or_fine(lambda: read_timestamps(path), path)
    path.write_bytes(data.draw(damaged(data.draw(st.sampled_from([truth, zef])))))
    assert_input_error_or_fine(lambda: import_truth(path, RIG), path)


@pytest.mark.parametrize("format", [None, *READERS])
def test_what_is_not_there_is_said_to_be_missing(tmp_path: Path, format: str | None) -> None:
    with pytest.raises(InputError, match=r"missing\.any"):
        read_detections({"top": tmp_path / "missing.any"}, RIG, format)


@pytest.mark.parametrize("format", [f for f in READERS if f != "yolo"])
def test_a_folder_where_a_file_should_be(tmp_path: Path, format: str) -> None:
    with pytest.raises(InputError):
        read_detections({"top": tmp_path}, RIG, format)
