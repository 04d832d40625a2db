"""A share of ``make fuzz``: every reader meets some damaged files in a process that is watched."""

from fuzz.work import Tally, Worker


def test_damaged_files_are_refused_in_one_line_by_every_reader() -> None:
    worker = Worker()
    try:
        assert len(worker.readers) >= 40
        for name in worker.readers:
            tally = Tally()
            worker.run(name, seed=0, cases=list(range(12)), tally=tally)
            assert tally.cases == 12
            assert tally.bad == [], name
    finally:
        worker.stop()
