"""Suspect moments on the report: under present names, with a place to jump to and a clip of the film."""

import base64

import numpy as np

import trackfish3d as tf
from tests.viewer.scenes import filmed
from trackfish3d.recordings import Recording
from trackfish3d.report.contents import collect


def test_the_report_lists_suspects_with_clips_and_leaves_out_what_was_mended(tmp_path):
    recording = filmed(tmp_path / "rec", frames=240)
    rows = collect(recording, recording.mended_tracks)["suspects"]
    assert [(r["track"], r["other"], r["state"]) for r in rows[:3]] == [(0, 1, "open"), (1, 2, "open"), (2, 3, "open")]
    assert rows[0]["place"] == 43
    clip, tracks = rows[0]["clip"], recording.mended_tracks
    pictures, k = clip["pictures"], recording.rig.index(clip["camera"])
    assert len(pictures) == len(clip["frames"]) == len(clip["marks"]) >= 5
    for frame, marks in zip(clip["frames"], clip["marks"], strict=True):
        assert {m["track"] for m in marks} == {0, 1}
        for m in marks:
            row = np.flatnonzero((tracks.frame == frame) & (tracks.track == m["track"]))
            seen = recording.rig[k].project(tracks.position[row])[0] / recording.rig[k].size
            np.testing.assert_allclose(m["at"], seen, rtol=1e-3)
            assert (m["box"] is None) == (tracks.detection[row[0], k] < 0)
            if m["box"] is not None:
                place = recording.detections.select(tracks.detection[row, k])
                assert m["box"][0] * recording.rig[k].size[0] <= place.u[0] <= m["box"][2] * recording.rig[k].size[0]
    assert base64.b64decode(pictures[0])[:2] == b"\xff\xd8"
    tf.edit(recording).swap(0, 1, 43)
    again = Recording.open(recording.folder)
    rows = collect(again, again.mended_tracks)["suspects"]
    assert next(r for r in rows if r["first"] == 40)["state"] == "mended"
    assert next(r for r in rows if r["first"] == 70)["track"] == 0  # it goes by its present name
    assert collect(again, again.tracks, raw=True)["suspects"][0]["state"] == "open"
    (again.folder / "suspects.csv").write_text("nonsense\n1\n")
    assert collect(again, again.mended_tracks)["suspects"] == []
