"""Nothing of the user's is removed, emptied or written through: names are plain, folders carry our mark, links stay."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackfish3d.cameras import Camera
from trackfish3d.cameras.native import read_cameras
from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.core.files import MARK, claim_folder, inside, plain_name, remove_folder, renew_folder

BAD = [
    "",
    " ",
    ".",
    "..",
    "a/b",
    "../x",
    "a\\b",
    "a\0b",
    "a\nb",
    "\x1b[31m",
    "x" * 101,
    "CON",
    "com1.txt",
    "nul",
    " a",
    "a.",
]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_is_no_file_name_is_no_camera(name):
    with pytest.raises(InputError, match="camera"):
        Camera(name, (64, 48), np.diag([60.0, 60, 1]), [], np.eye(3), [0, 0, 0])


@given(st.text(max_size=120))
def test_a_plain_name_stays_one_step_below_its_folder(name):
    said = ""
    try:
        plain_name(name, "camera")
    except InputError as error:
        said = str(error)
    assert said.isprintable()
    if said:
        return
    path = Path("folder") / name
    assert path.parent == Path("folder")
    assert path.name == name
    assert len(name.encode()) <= 100


@pytest.mark.parametrize("name", ["top", "cam 1", "Kamera-ä", "2024-05-01_top", "front.left"])
def test_ordinary_names_are_left_alone(name):
    assert plain_name(name, "camera") == name


def test_only_marked_folders_are_removed(tmp_path):
    mine = claim_folder(tmp_path / "work")
    (mine / "part").write_text("x")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "data.csv").write_text("precious")
    link = tmp_path / "link"
    link.symlink_to(mine)
    for path in (theirs, link):
        for change in (remove_folder, claim_folder, renew_folder):
            with pytest.raises(InputError, match="move it away"):
                change(path)
    assert (theirs / "data.csv").read_text() == "precious"
    assert (mine / "part").exists()
    renew_folder(mine)
    assert [p.name for p in mine.iterdir()] == [MARK]
    remove_folder(mine)
    assert not mine.exists()
    remove_folder(mine)


def test_nothing_is_written_through_a_link_inside_a_folder(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec" / "preview").symlink_to(outside)
    with pytest.raises(InputError, match="preview: is a link"):
        inside(tmp_path / "rec", "preview", "top.png")
    assert inside(tmp_path / "rec", "behaviour", "x.csv") == tmp_path / "rec" / "behaviour" / "x.csv"


def run(*words) -> int:
    """Exit code of a command."""
    try:
        return int(main([str(w) for w in words]) or 0)
    except SystemExit as stop:
        return int(stop.code or 0)


@pytest.fixture(scope="module")
def filmed(tmp_path_factory) -> Path:
    """A short film of two fish."""
    folder = tmp_path_factory.mktemp("filmed") / "school"
    assert (
        run("simulate", "--fish", "2", "--rig", "1", "--frames", "12", "--seed", "3", "--video", "--out", folder) == 0
    )
    return folder


def copied(filmed: Path, folder: Path) -> Path:
    """Return a copy of the recording."""
    return Path(shutil.copytree(filmed, folder, symlinks=True))


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("name", ["..", "../../evil", "."])
def test_a_camera_called_dot_dot_deletes_nothing(filmed, tmp_path, capsys, name):
    rec = copied(filmed, tmp_path / "rec")
    cameras = rec / "cameras.toml"
    last = read_cameras(cameras).names[-1]
    cameras.write_text(cameras.read_text().replace(f'"{last}"', f'"{name}"'))
    before = content(tmp_path)
    assert run("detect", rec, "--overwrite") == 2
    said = capsys.readouterr().err
    assert "cameras.toml" in said
    assert "plain one" in said
    videos = [f"{name}={v}" if v.stem == last else v for v in sorted((rec / "videos").iterdir())]
    assert run("run", *videos, "--cameras", cameras, "--out", tmp_path / "out") == 2
    assert content(tmp_path) == before


def test_links_in_a_received_recording_are_not_followed(filmed, tmp_path, capsys):
    for name in (".detect", "preview"):
        rec = copied(filmed, tmp_path / f"rec{name}")
        home = tmp_path / f"home{name}"
        for camera in read_cameras(rec / "cameras.toml").names:
            (home / camera).mkdir(parents=True)
            (home / camera / "thesis.txt").write_text("precious")
        (rec / name).symlink_to(home)
        before = content(home)
        assert run("detect", rec, "--overwrite") == 2
        assert "is a link" in capsys.readouterr().err
        assert content(home) == before


def test_a_work_folder_of_somebody_else_is_left_alone(filmed, tmp_path, capsys):
    rec = copied(filmed, tmp_path / "rec")
    (rec / ".detect").mkdir()
    (rec / ".detect" / "notes.txt").write_text("mine")
    assert run("detect", rec, "--overwrite") == 2
    assert "was not made by trackfish3d" in capsys.readouterr().err
    assert (rec / ".detect" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["images/train/a.jpg", "labels/train/a.txt", "data.yaml", "model.pt", "set.json"])
def test_labels_made_by_hand_survive_detect_train(filmed, tmp_path, capsys, name):
    own = tmp_path / "ds" / name
    own.parent.mkdir(parents=True)
    own.write_text("by hand")
    before = content(tmp_path)
    assert run("detect", filmed, "--train", tmp_path / "ds", "--only-set", "--set", "images=4") == 2
    assert "give another folder to --train" in capsys.readouterr().err
    assert content(tmp_path) == before


def test_run_keeps_films_and_tracks_that_lie_in_its_folder(filmed, tmp_path, capsys):
    videos = sorted((filmed / "videos").iterdir())
    out = tmp_path / "out"
    (out / "videos").mkdir(parents=True)
    other = out / "videos" / f"{videos[0].stem}.avi"
    other.write_bytes(b"the only copy")
    assert run("run", *videos, "--cameras", filmed / "cameras.toml", "--out", out) == 2
    assert "is another film" in capsys.readouterr().err
    assert other.read_bytes() == b"the only copy"
    own = tmp_path / "own"
    own.mkdir()
    (own / "truth.parquet").write_bytes(b"measured by hand")
    assert run("run", *videos, "--cameras", filmed / "cameras.toml", "--out", own) == 2
    assert "was not made by 'run'" in capsys.readouterr().err
    assert content(own) == {"truth.parquet": b"measured by hand"}


def test_side_files_belong_to_their_tracks(filmed, tmp_path):
    rec = copied(filmed, tmp_path / "rec")
    (rec / "suspects.csv").write_text("of tracks.csv")
    assert run("track", rec, "--method", "hungarian", "--out", rec / "h.csv") == 0
    assert (rec / "suspects.csv").read_text() == "of tracks.csv"


def test_overwriting_an_import_keeps_files_of_no_recording(filmed, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "tracks.csv").write_text("somebody's")
    words = (
        "import",
        "--cameras",
        filmed / "cameras.toml",
        "--detections",
        filmed / "detections.parquet",
        "--out",
        out,
    )
    assert run(*words) == 2
    assert run(*words, "--overwrite") == 0
    assert (out / "tracks.csv").read_text() == "somebody's"
