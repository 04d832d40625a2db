"""What every stage was made from is in the recording."""

import hashlib
import json
from pathlib import Path

import trackfish3d as tf
from trackfish3d.core import provenance
from trackfish3d.pipeline.stages import Runner, Silent, Stage


def test_every_stage_says_what_it_was_made_from(tmp_path: Path) -> None:
    made = tf.simulate(tmp_path / "school", fish=2, rig="tank", frames=30, seed=3)
    source = made.folder / "detections.parquet"
    rec = tf.import_recording(made.rig, source, tmp_path / "rec", fps=60)
    tf.track(rec, animals=2).save(rec)
    tf.analyse(rec)
    tf.write_report(rec)
    found = provenance.read(rec.folder)
    assert list(found) == ["import", "track", "analyse", "report"]
    for stage in found.values():
        assert stage["versions"]["trackfish3d"] == tf.__version__
        assert all(len(file["sha256"]) == 64 for file in stage["inputs"])
    assert found["import"]["inputs"][0]["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert found["track"]["options"]["settings"]["animals"] == 2


def test_a_stage_of_run_is_written_down_with_its_sources(tmp_path: Path) -> None:
    film, table = tmp_path / "film.mp4", tmp_path / "a.txt"
    film.write_bytes(b"film")
    table.write_text("a")
    out = tmp_path / "out.txt"
    stage = Stage("detect", (table,), {"low": 3}, (out,), lambda _: str(out.write_text("x")), (film,))
    Runner(tmp_path, Silent()).do(stage)
    entry = json.loads((tmp_path / "run.json").read_text())["detect"]
    assert [Path(i["path"]).name for i in entry["inputs"]] == ["film.mp4", "a.txt"]
    assert entry["options"] == {"low": 3}
    provenance.note(tmp_path, "import", [], {})
    Runner(tmp_path, Silent()).do(stage)  # done before: other entries stay
    assert list(provenance.read(tmp_path)) == ["detect", "import"]
