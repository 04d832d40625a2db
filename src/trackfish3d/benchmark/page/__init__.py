"""One page with every table and figure of the paper, its numbers beside ours."""

from .paper_run import PaperRun, benchmark_paper

__all__ = ["PaperRun", "benchmark_paper"]
