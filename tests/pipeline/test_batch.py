"""Many recordings: what fails stops nobody else, and whoever starts it, the files are the same."""

import errno
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

import trackfish3d as tf
from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.core.lock import LOCK, locked
from trackfish3d.methods.result import Result
from trackfish3d.pipeline.batch.batch import batch, states
from trackfish3d.pipeline.batch.dask_cluster import QueueSettings, queue_cluster
from trackfish3d.pipeline.batch.effects import effect_of, holm
from trackfish3d.pipeline.batch.manifest import Job, find_jobs, read_manifest, shard_of
from trackfish3d.pipeline.batch.units import Work, do_step

STEPS = ("check", "track")
MADE = ("check.json", "tracks.parquet", "tracks.csv")


@pytest.fixture(scope="module")
def schools(tmp_path_factory):
    """Three recordings, and what checking and tracking them one after the other in this process gives."""
    home = tmp_path_factory.mktemp("schools")
    for k in range(3):
        tf.simulate(home / "new" / f"r{k}", fish=3, frames=30, seed=k)
    shutil.copytree(home / "new", home / "serial")
    for k in range(3):
        for step in STEPS:
            made = do_step(Job(home / "serial" / f"r{k}"), Work(STEPS), step)
            assert made.state == "done", made.line
    return home


@pytest.fixture
def copy(schools, tmp_path):
    shutil.copytree(schools / "new", tmp_path / "recs")
    return tmp_path / "recs"


def sums(folder):
    return {f"{r.name}/{n}": hashlib.sha256((r / n).read_bytes()).hexdigest() for r in folder.iterdir() for n in MADE}


def test_what_is_done_is_not_done_again_and_changed_settings_redo_what_follows(schools, tmp_path):
    shutil.copytree(schools / "serial", tmp_path / "recs")
    job = Job(tmp_path / "recs" / "r0")
    assert [do_step(job, Work(STEPS), s).state for s in STEPS] == ["before", "before"]
    assert do_step(job, Work(STEPS, settings={"window": "6"}), "track").state == "done"
    assert do_step(Job(job.folder, animals=2), Work(STEPS), "track").state == "done"
    assert do_step(job, Work(STEPS, again=True), "check").state == "done"
    board = states([str(tmp_path / "recs" / "*")], None, Work(STEPS))
    assert [board.row(j) for j in board.jobs] == [["done before", "waiting"], *[["done before", "done before"]] * 2]


def test_a_recording_that_fails_is_named_and_the_others_go_on(schools, copy, capsys):
    (copy / "r0" / "detections.parquet").write_bytes(b"PAR1 damaged")
    with locked(copy / "r1"), pytest.raises(SystemExit) as stop:
        main(
            ["batch", str(copy / "*"), str(copy / "gone"), "--steps", "check,track", "--workers", "2", "--out", "none"]
        )
    assert stop.value.code == 1
    said = capsys.readouterr().out.splitlines()
    failed = [line for line in said if " failed: " in line]
    assert len(failed) == 3
    assert "detections.parquet" in failed[0]
    assert "r1: is being worked on by process" in failed[1]
    assert "gone: is no recording" in failed[2]
    assert said[-1] == "2 done, 3 failed, 3 -"
    assert not (copy / "gone").exists()
    assert {k: v for k, v in sums(schools / "serial").items() if k.startswith("r2")}.items() <= sums_of(copy / "r2")


def test_status_tells_who_works_on_a_recording_and_why_one_cannot_begin(schools, copy, capsys):
    left = '{"pid": %d, "host": "%s", "since": 0, "command": "track"}'
    (copy / "r2" / LOCK).write_text(left % (2**22 + 1, socket.gethostname()))  # of a process that was killed
    asked = ["batch", str(copy / "*"), str(copy / "gone"), "--steps", "check,track", "--status"]
    with locked(copy / "r1"), pytest.raises(SystemExit) as stop:
        main(asked)
    said = capsys.readouterr().out.splitlines()
    assert stop.value.code == 0
    waits = ["waiting"] * 2
    assert [line.split()[1:] for line in said[1:5]] == [waits, ["running", "waiting"], waits, waits]
    assert f"r1 check running: process {os.getpid()} on " in said[5]
    assert "gone check cannot begin: " in said[6]
    assert "is no recording, or is gone" in said[6]
    assert len(said) == 8


def sums_of(folder):
    return {f"{folder.name}/{n}": hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in MADE}.items()


def test_what_the_system_refuses_is_one_line(copy, monkeypatch):
    job = Job(copy / "r0")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/tracks.parquet")

    def vanish(*_, **__):
        shutil.rmtree(job.folder)

    def defect(*_, **__):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr(Result, "save", full)
    made = do_step(job, Work(STEPS), "track")
    assert (made.state, made.line) == ("failed", "/somewhere/tracks.parquet: No space left on device")
    assert states([job.folder], None, Work(STEPS)).row(job)[1] == "waiting"
    monkeypatch.setattr(Result, "save", defect)
    assert do_step(job, Work(STEPS), "track").line.endswith("a defect of the program, ZeroDivisionError: two lines")
    monkeypatch.setattr(Result, "save", vanish)
    made = do_step(job, Work(STEPS), "track")
    assert made.state == "failed"
    assert "is no recording, or is gone" in made.line
    assert do_step(job, Work(STEPS), "report", made).state == "blocked"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_one_line(copy):
    (copy / "r0").chmod(0o555)
    made = do_step(Job(copy / "r0"), Work(STEPS), "track")
    (copy / "r0").chmod(0o755)
    assert "cannot be written" in made.line


def test_a_worker_that_is_killed_costs_its_own_recording(copy, tmp_path):
    code = (
        "import os, signal, sys\n"
        "from trackfish3d.pipeline.batch import units\n"
        "from trackfish3d.pipeline.batch.batch import batch\n"
        "made = batch([sys.argv[1]], steps=['check'], workers=1, summary=None, watch=None)\n"
        "print([o.state for o in made.board.outcomes], made.failed[0].line)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(  # the second recording kills the process that works on it
        "import os, signal, sys\n"
        "if '--multiprocessing-fork' in sys.argv:\n"
        "    from trackfish3d.pipeline.batch import units\n"
        "    real = units.stage_of\n"
        "    def stage_of(job, work, step):\n"
        "        if job.folder.name == 'r1':\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return real(job, work, step)\n"
        "    units.stage_of = stage_of\n"
    )
    paths = [str(tmp_path), *(p for p in sys.path if p)]
    made = subprocess.run(
        [sys.executable, "-c", code, str(copy / "*")], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert made.stdout.startswith("['done', 'failed', 'done']"), made.stderr
    assert "the process that worked on it was killed" in made.stdout


def test_shards_together_give_what_one_batch_gives(schools, copy):
    jobs = find_jobs([str(copy / "*")])
    shards = [f"{k}/4" for k in (1, 2, 3, 4)]  # one of them has nothing to do
    parts = [shard_of(jobs, shard) for shard in shards]
    assert sorted(j.name for part in parts for j in part) == [j.name for j in jobs]
    for part in shards:
        assert not batch(str(copy / "*"), steps=STEPS, shard=part, workers=1).failed
    assert sums(copy) == sums(schools / "serial")
    for wrong in ("0/2", "3/2", "1", "a/b", "1/0"):
        with pytest.raises(InputError, match="shard"):
            shard_of(jobs, wrong)


def hosts(tmp_path, kind):
    """Return how commands are begun on three hosts, their addresses, and what undoes it all."""
    if kind == "processes":
        return [[], [], []], ["127.0.0.1"] * 3, lambda: None
    names = [f"tf3d{os.getpid()}{c}" for c in "swx"]
    undo = [["ip", "link", "del", names[0]], *(["ip", "netns", "del", n] for n in names)]

    def clean():
        for words in undo:
            subprocess.run(words, capture_output=True)

    words = [f"link add {names[0]} type bridge", f"addr add 10.213.77.1/24 dev {names[0]}", f"link set {names[0]} up"]
    for k, name in enumerate(names):
        inner = f"-n {name}"
        words += [f"netns add {name}", f"link add {name}o type veth peer name eth0 netns {name}"]
        words += [f"link set {name}o master {names[0]} up", f"{inner} addr add 10.213.77.{k + 2}/24 dev eth0"]
        words += [f"{inner} link set eth0 up", f"{inner} link set lo up"]
    for line in words:
        if subprocess.run(["ip", *line.split()], capture_output=True).returncode:
            clean()
            pytest.skip("network namespaces cannot be made here")
    return [["ip", "netns", "exec", n] for n in names], [f"10.213.77.{k + 2}" for k in range(3)], clean


@pytest.mark.parametrize("kind", ["processes", "namespaces"])
def test_a_scheduler_and_workers_over_tcp_do_the_same_and_a_killed_worker_loses_nothing(kind, schools, copy, tmp_path):
    pytest.importorskip("distributed")
    if kind == "namespaces" and shutil.which("ip") is None:
        pytest.skip("network namespaces cannot be made here")
    begin, addresses, clean = hosts(tmp_path, kind)
    python = [sys.executable, "-m"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    where = tmp_path / "scheduler.json"
    command = [*begin[0], *python, "distributed.cli.dask_scheduler", "--host", addresses[0], "--port", "0"]
    started = [subprocess.Popen([*command, "--no-dashboard", "--scheduler-file", str(where)], **quiet)]
    try:
        worker = [*python, "distributed.cli.dask_worker", "--scheduler-file", str(where), "--nthreads", "1"]
        worker += ["--no-nanny", "--no-dashboard", "--host"]
        until(where.exists)
        started += [subprocess.Popen([*begin[k], *worker, addresses[k]], **quiet) for k in (1, 2)]
        address = json.loads(where.read_text())["address"]
        assert addresses[0] in address
        made = {}
        thread = threading.Thread(
            target=lambda: made.update(b=batch(str(copy / "*"), steps=STEPS, cluster=address, summary=None))
        )
        thread.start()
        until(lambda: any((copy / f"r{k}" / "run.json").exists() for k in range(3)))  # the first step has begun
        started[1].send_signal(signal.SIGKILL)
        thread.join(240)
        assert made["b"].board.counts == {"done": 6} or made["b"].failed == []
        assert sums(copy) == sums(schools / "serial")
    finally:
        for process in started:
            process.kill()
            process.wait()
        clean()


def until(what, seconds=120):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_queue_is_asked_for_workers_that_end_before_their_wall_time():
    pytest.importorskip("dask_jobqueue")
    with queue_cluster("slurm", QueueSettings(walltime_min=60, queue="short", prologue="module load python")) as made:
        script = made.job_script()
    assert "#SBATCH -t 01:00:00" in script
    assert "#SBATCH -p short" in script
    assert "--lifetime 55m --lifetime-stagger 2m" in script
    assert script.index("module load python") < script.index("dask_worker")
    with pytest.raises(InputError, match="--cluster lsf"):
        queue_cluster("lsf", QueueSettings())


def test_no_scheduler_is_one_line(copy, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("trackfish3d.pipeline.batch.dask_cluster.ANSWER_S", 1)
    with pytest.raises(InputError, match="no scheduler answers"):
        batch(str(copy / "*"), steps=["check"], cluster="tcp:/" + "/127.0.0.1:1", summary=None)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("folder\nr0\n", "'recording' among them"),
        ("", "'recording' among them"),
        ("recording,recording\nr0,r1\n", "twice"),
        ("recording,animals\nr0,many\n", "row 2, column animals: 'many'"),
        ("recording,animals\nr0\n", "row 2 has 1 cells"),
        ("recording,group\n,control\n", "row 2, column recording: is empty"),
        ("recording,group\nr0,a\n./r0,b\n", "row 3 names"),
        ("recording,videos\nr0,a=b.mp4\n", "belong together"),
        ("recording\n", "names no recording"),
        ("recording,scene\nr0,ajar\n", "column scene"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_one_line(tmp_path, text, line):
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(InputError, match=line) as said:
        read_manifest(tmp_path / "m.csv")
    assert "\n" not in str(said.value)


def test_a_manifest_is_read_with_semicolons_own_columns_and_paths_beside_it(tmp_path):
    (tmp_path / "m.csv").write_text(
        "recording,group,animals,videos,calibration,water\nnew,a,3,top=t1.mp4+t2.mp4;s.mp4,c.toml,7\n"
    )
    (job,) = read_manifest(tmp_path / "m.csv")
    assert job.folder == tmp_path / "new"
    assert job.videos == (f"top={tmp_path / 't1.mp4'}+{tmp_path / 't2.mp4'}", str(tmp_path / "s.mp4"))
    assert (job.group, job.animals, job.more) == ("a", 3, {"water": "7"})
    (tmp_path / "m.csv").write_text("recording;group\nnew;b\n")
    assert read_manifest(tmp_path / "m.csv")[0].group == "b"
    assert find_jobs([tmp_path / "new"], tmp_path / "m.csv")[0].group == "b"  # of a manifest, those that are named
    assert find_jobs([tmp_path / "other"], tmp_path / "m.csv")[0].group == ""


def test_effects_are_those_of_the_books():
    rng = np.random.default_rng(4)
    a, b = rng.normal(1.0, 1, 9), rng.normal(0, 2, 7)
    found = effect_of(a, b)
    pairs = np.sign(a[:, None] - b[None]).sum() / 63
    assert found.delta == pytest.approx(pairs)
    assert found.p == pytest.approx(mannwhitneyu(a, b).pvalue)
    pooled = np.sqrt((8 * a.var(ddof=1) + 6 * b.var(ddof=1)) / 14)
    assert found.g == pytest.approx((a.mean() - b.mean()) / pooled * (1 - 3 / (4 * 14 - 1)), rel=1e-3)  # Hedges' rule
    assert effect_of(a[:1], b) is None
    assert effect_of(np.ones(3), np.ones(3)) is None
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_the_interval_of_g_holds_the_truth():
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        found = effect_of(rng.normal(0.8, 1, 10), rng.normal(0, 1, 10))
        held += found.low < 0.8 < found.high
    assert 0.92 < held / 400 < 0.98


def test_groups_are_compared_in_one_page_that_takes_names_as_text(schools, copy, tmp_path):
    (tmp_path / "m.csv").write_text("recording,group,note\nrecs/r0,<b>x,1\nrecs/r1,control,2\nrecs/r2,<b>x,3\n")
    made = batch(manifest=tmp_path / "m.csv", steps=["track", "analyse"], workers=1, summary=tmp_path / "sum")
    page = made.page.read_text()
    assert "<b>x" not in page
    assert "&lt;b&gt;x" in page
    assert "3 recordings in 2 groups" in page
    assert page.count("<figure>") > 8
    assert "<th>note</th>" in page
    table = (tmp_path / "sum" / "batch.csv").read_text().splitlines()
    assert table[0].startswith("recording,group,note,tracks,speed_mean")
    assert len(table) == 4


def test_a_manifest_with_a_zero_byte_is_one_line(tmp_path):
    path = tmp_path / "batch.csv"
    path.write_bytes(b"recording,group\none\0,a\n")
    with pytest.raises(InputError, match=r"batch\.csv: holds a zero byte"):
        read_manifest(path)


def test_a_list_of_recordings_without_its_option_is_told_so(tmp_path, capsys):
    (tmp_path / "list.csv").write_text("recording\nschool\n")
    with pytest.raises(SystemExit) as stop:
        main(["batch", str(tmp_path / "list.csv"), "--out", "none"])
    assert stop.value.code == 1
    assert "list.csv: is a file, not the folder of a recording; a list of recordings is a --manifest" in (
        capsys.readouterr().out
    )
