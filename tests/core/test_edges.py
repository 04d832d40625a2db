"""What the system refuses, what a kill leaves, and who may write: one clear line, nothing lost."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import trackfish3d as tf
from trackfish3d.cli.app import main
from trackfish3d.core import parallel
from trackfish3d.core.compiling import _private_folder
from trackfish3d.core.errors import InputError, TrackFishError
from trackfish3d.core.files import atomic_path
from trackfish3d.core.lock import LOCK, locked

SRC = str(Path(tf.__file__).parents[1])


def python(code: str, **more) -> subprocess.Popen:
    """Start another Python with this package."""
    environment = os.environ | {"PYTHONPATH": SRC}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **more
    )


def run(*words) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(w) for w in words])
    return int(stop.value.code or 0)


def test_a_folder_has_one_writer_and_a_killed_one_is_no_obstacle(tmp_path):
    code = f"""
import time
from trackfish3d.core.lock import locked
with locked({str(tmp_path)!r}):
    print("held", flush=True)
    time.sleep(60)
"""
    other = python(code)
    assert other.stdout.readline() == "held\n"
    with (
        pytest.raises(InputError, match=rf"is being worked on by process {other.pid} on .* since 0 min"),
        locked(tmp_path),
    ):
        pass
    other.send_signal(signal.SIGKILL)
    other.wait()
    with locked(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_not_written_through_a_link(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec" / LOCK).symlink_to(tmp_path / "precious.txt")
    with pytest.raises(InputError, match="is a link"), locked(tmp_path / "rec"):
        pass
    assert (tmp_path / "precious.txt").read_text() == "mine"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_while_workers_begin_shows_no_traceback(tmp_path):
    """They would be in the middle of an import; the parent alone decides."""
    (tmp_path / "heavy.py").write_text(
        "import os, pathlib, time\n"
        "if 'WORKER' in os.environ:\n"
        "    pathlib.Path('importing').touch()\n"
        "    time.sleep(60)\n"
        "def begin(): pass\n"
    )
    code = """
import os, signal, sys, time
sys.path.insert(0, ".")
import heavy
os.environ["WORKER"] = "1"  # seen by those that are started from here
from trackfish3d.core.parallel import stop_workers, worker_pool
signal.signal(signal.SIGINT, signal.default_int_handler)
with worker_pool(1, heavy.begin) as pool:
    waiting = pool.submit(time.sleep, 60)
    try:
        waiting.result()
    except BaseException as stopped:
        time.sleep(1)
        stop_workers(pool)
        print(type(stopped).__name__, flush=True)
"""
    process = python(code, start_new_session=True, cwd=tmp_path)
    for _ in range(600):
        if (tmp_path / "importing").exists():
            break
        time.sleep(0.1)
    assert (tmp_path / "importing").exists()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=50)
    assert out == "KeyboardInterrupt\n"
    assert "Traceback" not in err


def test_temporaries_of_a_killed_writer_are_swept_and_those_of_a_living_one_stay(tmp_path):
    code = f"""
import time
from trackfish3d.core.files import atomic_path
with atomic_path({str(tmp_path / "a.csv")!r}) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""
    other = python(code)
    assert other.stdout.readline() == "writing\n"
    with atomic_path(tmp_path / "a.csv") as temporary:
        temporary.write_text("whole")
    assert len(list(tmp_path.iterdir())) == 2
    other.send_signal(signal.SIGKILL)
    other.wait()
    (tmp_path / ".a.notes.csv").write_text("somebody's")
    with atomic_path(tmp_path / "a.csv") as temporary:
        temporary.write_text("again")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".a.notes.csv", "a.csv"]


def test_workers_end_when_their_parent_is_killed():
    code = """
import os, time
from trackfish3d.core.parallel import worker_pool
if __name__ == "__main__":
    pool = worker_pool(1)
    print(pool.submit(os.getpid).result(), flush=True)
    pool.submit(time.sleep, 60)
    time.sleep(60)
"""
    parent = python(code)
    worker = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    end = time.monotonic() + 20
    while time.monotonic() < end and Path(f"/proc/{worker}").exists():
        time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_a_full_disk_is_one_line(tmp_path, capsys, monkeypatch):
    recording = tf.simulate(tmp_path / "rec", fish=2, frames=8)

    def full(*_, **__):
        raise OSError(28, "No space left on device", "tracks.parquet")

    monkeypatch.setattr("trackfish3d.methods.result.Result.save", full)
    assert run("track", recording.folder) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert said == ["trackfish3d: tracks.parquet: No space left on device; nothing that was finished is lost"]
    monkeypatch.setattr("trackfish3d.methods.result.Result.save", lambda *_: (_ for _ in ()).throw(MemoryError))
    assert run("track", recording.folder) == 2
    assert "not enough memory" in capsys.readouterr().err
    monkeypatch.setattr("trackfish3d.methods.result.Result.save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run("track", recording.folder) == 130
    assert capsys.readouterr().err == (
        "trackfish3d: stopped; what was finished is kept, and the same command goes on from there\n"
    )


@pytest.mark.parametrize("message", [None, "Error writing bytes to file. Detail: [errno 28] No space left on device"])
def test_a_disk_that_takes_no_more_is_named_by_the_file(tmp_path, message):
    """Neither the system on writing nor Arrow names the file."""
    with pytest.raises(OSError, match="No space left on device") as caught, atomic_path(tmp_path / "tracks.csv"):
        raise OSError(28, "No space left on device") if message is None else OSError(message)
    assert caught.value.filename == str(tmp_path / "tracks.csv")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="other") as caught, atomic_path(tmp_path / "tracks.csv"):
        raise OSError(28, "No space", "other.csv")
    assert caught.value.filename == "other.csv"


@pytest.mark.parametrize("words", [("--debug", "track"), ("track", "--debug")])
def test_debug_shows_the_traceback_wherever_it_stands(tmp_path, words):
    with pytest.raises(InputError, match="is not a folder"):
        main([*words, str(tmp_path / "nowhere")])


def test_a_lock_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trackfish3d.core.lock.os.write", full)
    with pytest.raises(OSError, match="No space left") as caught, locked(tmp_path):
        pass
    assert caught.value.filename == str(tmp_path / LOCK)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def tracked(tmp_path_factory) -> Path:
    """A recording with tracks."""
    recording = tf.simulate(tmp_path_factory.mktemp("tracked") / "rec", fish=2, frames=30)
    tf.track(recording).save(recording)
    return recording.folder


def test_a_name_that_no_disk_takes_is_one_line(tracked, tmp_path, capsys):
    for out in (tmp_path / ("n" * 300 + ".csv"), tracked / "tracks.csv" / "t.csv"):
        assert run("export", tracked, "--format", "csv", "--out", out) == 2
        said = capsys.readouterr().err.strip()
        assert "\n" not in said
        assert said.startswith(f"trackfish3d: {out}: ")


def test_figures_of_an_unusual_unit_reach_the_report(tracked, capsys):
    path = tracked / "cameras.toml"
    path.write_text(re.sub(r'units = ".*"', 'units = "[/x] $bad{$"', path.read_text()))
    assert run("analyse", tracked) == 0
    assert run("report", tracked) == 0
    page = (tracked / "report.html").read_text()
    assert '"behaviour":null' not in page.replace(" ", "")
    assert "analyse" not in capsys.readouterr().err


def test_escape_characters_in_names_reach_no_terminal(tmp_path, capsys):
    assert run("track", tmp_path / "\x1b[31mred\nline") == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert said.count("\n") == 1


def test_kernels_are_kept_elsewhere_where_neither_installation_nor_home_is_writable(tmp_path):
    code = """
import os
os.access = lambda path, mode: False
import trackfish3d, numpy
from trackfish3d.maths.assignment import assign
print(assign(numpy.eye(2)), os.environ["NUMBA_CACHE_DIR"])
"""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": SRC, "HOME": "/nonexistent", "TMPDIR": str(tmp_path)}
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    folder = Path(made.stdout.split()[-1])
    assert folder.parent == tmp_path
    assert list(folder.rglob("assignment.*.nbi"))


def test_a_cache_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mine = _private_folder()
    assert mine.parent == tmp_path
    assert mine.stat().st_mode & 0o077 == 0
    assert _private_folder() == mine
    mine.chmod(0o777)
    assert _private_folder() != mine


def test_check_says_its_verdict_where_nothing_can_be_drawn(tmp_path, capsys):
    recording = tf.simulate(tmp_path / "rec", fish=2, rig="tank", frames=12)
    assert run("check", recording.folder, "--picture", recording.folder / "recording.toml" / "x.png") in (0, 1)
    said = capsys.readouterr().out
    assert "the rig could not be drawn" in said
    assert "typical residual" in said


def test_a_folder_whose_name_is_no_text_is_named_as_the_cause(tmp_path, capsys):
    made = tf.simulate(tmp_path / "rec", fish=2, frames=4)
    strange = os.fsdecode(os.fsencode(str(tmp_path)) + b"/caf\xe9")
    os.rename(made.folder, strange)
    assert run("check", strange) == 2
    assert "the name is not UTF-8" in capsys.readouterr().err


def test_matplotlib_is_quiet_without_a_home(tmp_path):
    code = "import trackfish3d, matplotlib; print(matplotlib.get_configdir())"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": SRC, "HOME": "/nonexistent", "TMPDIR": str(tmp_path)}
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert made.stderr == ""
    assert made.stdout.startswith(str(tmp_path))


def test_where_no_process_can_be_started_it_is_said(monkeypatch):
    def refused(*_, **__):
        raise BrokenPipeError(32, "Broken pipe")  # of multiprocessing's own helper, and an end without a word for typer

    monkeypatch.setattr(parallel, "ProcessPoolExecutor", refused)
    with pytest.raises(TrackFishError, match=r"no process work beside this one \(Broken pipe\); give --workers 1"):
        parallel.worker_pool(2)


def test_a_device_or_a_pipe_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"pipe\.csv: is no file that can be replaced"), atomic_path(pipe):
        pass
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
