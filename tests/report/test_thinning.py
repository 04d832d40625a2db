"""Pages of long recordings: every n-th frame, with the same links, in bounded memory."""

import json
import re

import numpy as np

from trackfish3d.recordings import Recording
from trackfish3d.report import thinning, write_report


def test_what_is_kept_is_what_was_there(small):
    rec = Recording.open(small.folder)
    made, tracks = thinning.thinned(rec, 4)
    kept = rec.tracks.select(rec.tracks.frame % 4 == 0)
    np.testing.assert_array_equal(tracks.position, kept.position)
    np.testing.assert_array_equal(tracks.detection >= 0, kept.detection >= 0)
    used = kept.detection >= 0
    np.testing.assert_array_equal(
        made.detections.centroids[tracks.detection[used]], rec.detections.centroids[kept.detection[used]]
    )
    assert set(made.truth.frame.tolist()) == {f for f in rec.truth.frame.tolist() if f % 4 == 0}


def test_a_long_recording_has_a_page_of_some_frames_that_says_so(small, monkeypatch, tmp_path):
    rec = Recording.open(small.folder)
    assert thinning.stride_of(rec) == 1
    rows = len(rec.tracks) + len(rec.detections) + len(rec.truth)
    monkeypatch.setattr(thinning, "MOST_ROWS", rows - 1)
    monkeypatch.setattr(thinning, "KEPT_ROWS", rows // 4)
    stride = thinning.stride_of(rec)
    assert 4 <= stride <= 5
    page = write_report(Recording.open(small.folder), tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.S)[1])
    assert any(f"every {stride}th frame" in note for note in data["notes"])
    assert data["axis"]["every"] == stride  # what a second of the page is made of
    assert data["axis"]["count"] == len([f for f in range(40) if f % stride == 0])
    assert data["tracks"]["names"] == [str(n) for n in rec.tracks.identities.tolist()]
