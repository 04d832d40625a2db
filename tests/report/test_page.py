import json
import re
from importlib.resources import files

import numpy as np
import pytest

from trackfish3d.cameras import CameraRig
from trackfish3d.cli.app import main
from trackfish3d.recordings import Detections, Recording, Tracks
from trackfish3d.report import build_report, write_report
from trackfish3d.report.page import SCRIPTS, bundle

from .scenes import air_rig, make_recording

NASTY = "</script><img src=x onerror=alert(1)>"


def contents(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_nothing_on_the_page_points_outside(school):
    text = build_report(school, school.tracks)
    addresses = set(re.findall(r"[a-z]+://[^\s\"'`<>)]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not an address that is fetched
    assert not re.search(r"<(link|iframe|img|script[^>]+src)\b", text)
    assert "default-src 'none'" in text


def test_markup_in_names_stays_text(tmp_path):
    rig = air_rig(names=("&lt;i&gt;", "a&b", "'; alert(1)"))
    recording = make_recording(tmp_path / "r", rig=rig, fish=2, frames=10)
    text = build_report(recording, recording.tracks, tracks_file=NASTY)
    assert NASTY not in text
    assert text.count("<script") == 2
    assert contents(text)["cameras"][0]["name"] == "&lt;i&gt;"


def test_folder_name_is_escaped_in_the_title(tmp_path):
    recording = make_recording(tmp_path / "<i>&x", fish=2, frames=10)
    text = build_report(recording, recording.tracks)
    assert "<title>&lt;i&gt;&amp;x – TrackFish3D</title>" in text


def test_modules_become_one_script():
    joined = bundle(["export const a = 1;\n", 'import {\n  a,\n} from "./a.js";\nexport function f() {}\nf(a);\n'])
    assert joined == "const a = 1;\n\nfunction f() {}\nf(a);\n"
    assert len(set(SCRIPTS)) == len(SCRIPTS)


def test_command_writes_the_page_and_says_where(small, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["report", str(small.folder)])
    assert end.value.code == 0
    assert (small.folder / "report.html").is_file()
    assert "report.html (0." in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["report", str(small.folder), "--out", str(tmp_path / "new" / "x.html"), "--gate", "0.01"])
    assert contents((tmp_path / "new" / "x.html").read_text())["scores"]["gate"] == 0.01


def test_tracks_of_another_tool_can_be_shown(small, tmp_path):
    file = tmp_path / "other.csv"
    file.write_text("frame,id,x,y,z\n0,7,0,0,0\n1,7,0.1,0,0\n")
    found = contents(write_report(small, tmp_path / "o.html", file).read_text())
    assert found["tracks"]["names"] == ["7"]
    assert found["tracksFile"] == "other.csv"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["{rec}/nowhere"], "is not a folder"),
        (["{rec}", "--gate", "-1"], "gate -1: must be a distance above 0"),
        (["{rec}", "--gate", "nan"], "gate nan"),
        (["{rec}", "--tracks", "{rec}/none.csv"], "no such file"),
        (["{rec}", "--tracks", "{rec}/cameras.toml"], "cameras.toml"),
        (["{rec}", "--out", "{rec}/cameras.toml/x.html"], "cannot be written"),
    ],
)
def test_bad_input_is_one_line(small, arguments, says, capsys):
    with pytest.raises(SystemExit) as end:
        main(["report", *(a.format(rec=small.folder) for a in arguments)])
    assert end.value.code == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert says in lines[0]


def test_a_recording_without_tracks_says_what_to_do(small, capsys):
    (small.folder / "tracks.parquet").unlink()
    with pytest.raises(SystemExit) as end:
        main(["report", str(small.folder)])
    assert end.value.code == 2
    assert "has no tracks yet; run 'trackfish3d track" in capsys.readouterr().err


def test_without_detections_the_page_says_so(small):
    (small.folder / "detections.parquet").unlink()
    recording = Recording.open(small.folder)
    found = contents(build_report(recording, recording.tracks))
    assert found["residuals"] == []
    assert any("no detections" in n for n in found["notes"])


def test_without_truth_there_are_no_scores(tmp_path):
    recording = make_recording(tmp_path / "r", fish=2, frames=10, truth=False)
    found = contents(build_report(recording, recording.tracks))
    assert found["truth"] is None
    assert found["scores"] is None


def odd_tracks(kind):
    if kind == "none":
        return Tracks.build([], [], np.zeros((0, 3)))
    if kind == "one point":
        return Tracks.build([3], [9], [[0.0, 0, 0]])
    if kind == "nowhere":
        return Tracks.build([3, 4], [9, 9], [[np.nan] * 3, [1e9, 0, 0]])
    if kind == "negative frames":
        return Tracks.build([-5, 7], [-2, -2], [[0.0, 0, 0], [1, 1, 1]])
    return Tracks.build([1, 2], [1, 1], [[0.0, 0, 0], [1, 1, 1]], covariance=np.full((2, 3, 3), np.inf))


@pytest.mark.parametrize("kind", ["none", "one point", "nowhere", "negative frames", "no covariance"])
@pytest.mark.parametrize("truth", [True, False])
def test_odd_tracks_make_a_page(tmp_path, kind, truth):
    recording = make_recording(tmp_path / "r", fish=2, frames=10, truth=truth)
    tracks = odd_tracks(kind)
    found = contents(build_report(recording, tracks))
    assert len(found["tracks"]["names"]) == len(tracks.identities)
    if kind == "nowhere":
        lost = 2 if truth else 1  # with nothing else to see, the box is where the one point is
        assert any(f"{lost} track points lie far outside" in n for n in found["notes"])


def test_an_empty_recording_makes_a_page(tmp_path):
    rig = CameraRig(air_rig().cameras[:1], "m")
    recording = Recording.create(tmp_path / "r", rig, detections=Detections.empty(rig.names))
    found = contents(build_report(recording, Tracks.build([], [], np.zeros((0, 3)))))
    assert found["axis"]["count"] == 1
    assert np.isfinite(found["space"]["low"]).all()


def test_scripts_import_only_what_an_earlier_one_exports():
    folder = files("trackfish3d.report") / "data"
    known: dict[str, set[str]] = {}
    for name in SCRIPTS:
        text = (folder / name).read_text(encoding="utf-8")
        for wanted, source in re.findall(r'^import \{([^}]*)\} from "\./([^"]+)";', text, re.M):
            assert {w.strip() for w in wanted.split(",")} <= known[source]
        declared = re.findall(r"^export (?:const|function) (\{[^}]*\}|[\w$]+)", text, re.M)
        known[name] = {part.strip() for d in declared for part in d.strip("{}").split(",")}
    assert {f.name for f in folder.iterdir() if f.name.endswith(".js")} == set(SCRIPTS)
