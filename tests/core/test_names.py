"""Names that come from data are shown as they are: no markup, no mathematics, no faces, no orders to a terminal."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trackfish3d as tf
from trackfish3d.cli.app import main
from trackfish3d.core.drawing import plain_text
from trackfish3d.health.picture import rig_figure
from trackfish3d.synfish.rigs import random_rig

HOSTILE = ("$bad{$ ^_", "[red]x[bold]")


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(a) for a in arguments])
    return int(stopped.value.code or 0)


def hostile_rig() -> tf.CameraRig:
    return tf.CameraRig(tuple(replace(c, name=n) for c, n in zip(random_rig(2, 1), HOSTILE, strict=True)), "$cm{$")


def test_names_of_cameras_and_units_are_no_mathematics() -> None:
    figure = rig_figure(hostile_rig(), np.zeros((3, 3)))
    figure.savefig(io.BytesIO(), format="png")  # a formula would be parsed here, and fail
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert any("$bad{$" in word for word in words)


def test_only_what_is_drawn_by_us_is_plain() -> None:
    import matplotlib

    seen = plain_text(lambda: matplotlib.rcParams["text.parse_math"])()
    assert (seen, matplotlib.rcParams["text.parse_math"]) == (False, True)


def test_names_are_no_markup_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tf.simulate(tmp_path / "school", fish=2, rig="tank", frames=12)
    text = (made.folder / "cameras.toml").read_text()
    for old, new in zip(("top", "front"), HOSTILE, strict=True):
        text = text.replace(f'"{old}"', f'"{new}"')
    (made.folder / "cameras.toml").write_text(text)
    table = made.detections.to_table()
    k = table.column_names.index("camera")
    names = dict(zip(("top", "front"), HOSTILE, strict=True))
    import pyarrow as pa
    import pyarrow.parquet as pq

    renamed = pa.array([names[str(v)] for v in table["camera"].to_pylist()])
    pq.write_table(table.set_column(k, "camera", renamed), made.folder / "detections.parquet")
    assert run("check", made.folder) in (0, 1)
    said = capsys.readouterr().out
    for name in HOSTILE:
        assert name in said
    csv = tmp_path / "[red]:smile:.csv"
    csv.write_text("frame,id,x,y,z\n1,1,1,2,3\n2,1,1,2,3\n")
    assert run("evaluate", csv, "--truth", csv, "--gate", 1) == 0
    said = capsys.readouterr().out.replace("\n", "")
    assert "[red]:smile:" in said


@pytest.mark.parametrize("units", ["", "x" * 41, "\x1b[31m", "c\nm"])
def test_a_unit_is_a_short_word(units: str) -> None:
    with pytest.raises(tf.InputError, match="is no name of a unit of length"):
        tf.CameraRig(hostile_rig().cameras, units)


def test_a_dictionary_shorter_than_what_points_into_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from trackfish3d.recordings.storage import read_table

    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"camera": pa.array(["top"]).dictionary_encode()}), path)
    assert read_table(path)["camera"].to_pylist() == ["top"]
    broken = pa.DictionaryArray.from_arrays(pa.array([0, 5]), pa.array(["top"]), safe=False)  # as damage makes it
    monkeypatch.setattr(pq, "read_table", lambda _: pa.table({"camera": broken}))
    with pytest.raises(tf.InputError, match="is not a complete Parquet file"):
        read_table(path)
