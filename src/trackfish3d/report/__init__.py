"""One self-contained HTML page that shows what a recording's tracks are worth."""

from .page import build_report, write_report

__all__ = ["build_report", "write_report"]
