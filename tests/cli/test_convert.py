"""``trackfish3d convert`` as people type it."""

import sys
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.cameras.formats import FORMATS, read_calibration, write_calibration
from trackfish3d.cli.app import main

TURN = np.array([[1.0, 0, 0], [0, -1, 0], [0, 0, -1]])  # looking down, z up


def rig():
    K = np.array([[900.0, 0, 320], [0, 900, 240], [0, 0, 1]])
    return CameraRig(
        tuple(Camera(n, (640, 480), K, np.zeros(5), TURN, [x, 0, 500]) for n, x in (("a", 5), ("b", -5))), "mm"
    )


def run(capsys, *arguments):
    """Exit code and what was printed to both streams."""
    try:
        main(["convert", *map(str, arguments)])
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_convert_tells_what_it_read_and_wrote(tmp_path, capsys):
    write_calibration(rig(), tmp_path / "in.yml", "opencv")
    code, out, err = run(
        capsys, tmp_path / "in.yml", tmp_path / "cameras.toml",
        "--units", "cm", "--scale", "0.1", "--water", "z=0", "--water-index", "1.34", "--names", "left,right",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "opencv, 2 cameras, world in cm" in out
    assert "left: 640x480" in out
    assert "refraction 1/1.34" in out
    back = read_calibration(tmp_path / "cameras.toml")
    assert back.names == ("left", "right")
    assert back.units == "cm"
    np.testing.assert_allclose(back["left"].centre, [-0.5, 0, 50], atol=1e-12)
    np.testing.assert_allclose(back["left"].interfaces[0].normal, [0, 0, 1])


def test_output_format_goes_by_name_or_option(tmp_path, capsys):
    write_calibration(rig(), tmp_path / "in.toml")
    for target, extra, form in (
        ("out.json", [], "opencv"),
        ("each", [], "opencv"),
        ("calibration.toml", [], "anipose"),
        ("other.toml", [], "trackfish3d"),
        ("more.toml", ["--to", "anipose"], "anipose"),
    ):
        code, out, _ = run(capsys, tmp_path / "in.toml", tmp_path / target, *extra)
        assert code == 0
        assert out.endswith(f"{target}: {form}\n")
        assert read_calibration(tmp_path / target).names == ("a", "b")


def test_assumptions_are_printed_as_notes(tmp_path, capsys):
    columns = [(c.matrix / c.matrix[2, 3]).ravel()[:11] for c in rig()]
    np.savetxt(tmp_path / "dlt.csv", np.array(columns).T, delimiter=",")
    code, out, err = run(capsys, tmp_path / "dlt.csv", tmp_path / "c.toml")
    assert (code, err) == (0, "")
    assert "note: the image size is not in the file: 640 x 480" in out
    code, out, _ = run(capsys, tmp_path / "dlt.csv", tmp_path / "c.toml", "--size", "648x488", "--origin", "top")
    assert "note" not in out
    assert read_calibration(tmp_path / "c.toml")[0].size == (648, 488)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["missing.toml", "out.toml"], "no such file"),
        (["in.toml", "in.toml"], "are the same"),
        (["in.toml", "out.mat"], "say which format to write"),
        (["in.toml", "out.toml", "--to", "matlab"], "can only be read"),
        (["in.toml", "out.toml", "--from", "nonsense"], "unknown calibration format 'nonsense'"),
        (["in.toml", "out.toml", "--from", "colmap"], "cameras.txt"),
        (["in.toml", "out.toml", "--size", "640"], "as 1920x1080"),
        (["in.toml", "out.toml", "--water-plane", "1,2,3"], "x,y,z,nx,ny,nz"),
        (["in.toml", "out.toml", "--water-plane", "0,0,0,0,0,0"], "normal has no length"),
        (["in.toml", "out.toml", "--water-plane", "z=500"], "stands in the water plane"),
        (["in.toml", "out.toml", "--water", "z=0", "--water-index", "133"], "not a refractive index"),
        (["in.toml", "out.toml", "--water-index", "1.3"], "give the water plane"),
        (["in.toml", "out.toml", "--scale", "0"], "positive"),
        (["in.toml", "out.toml", "--names", "a,a"], "used twice"),
        (["in.toml", "out.toml", "--origin", "top"], "DLT coefficients only"),
        (["text.txt", "out.toml"], "is not a calibration that is known"),
    ],
)
def test_mistakes_are_one_line_and_leave_no_file(tmp_path, capsys, monkeypatch, arguments, match):
    monkeypatch.chdir(tmp_path)
    write_calibration(rig(), "in.toml")
    Path("text.txt").write_text("Dear reader,\nthis is a letter.\n")
    before = set(tmp_path.iterdir())
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert match in err
    assert err.count("\n") == 1
    assert err.startswith("trackfish3d: ")
    assert set(tmp_path.iterdir()) == before


def test_formats_are_listed(capsys):
    code, out, _ = run(capsys, "--formats")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(FORMATS)


def test_readers_do_without_opencv():
    """OpenCV is an extra: neither the command nor a reader may import it."""
    import subprocess

    code = "import sys, trackfish3d.cli.inputs.convert; sys.exit('cv2' in sys.modules or 'h5py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
