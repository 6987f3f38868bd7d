"""What a run found: on the terminal, as files for people and programs, and as pictures."""

from graphmem.experiments.report.plots import draw, must_be_drawable
from graphmem.experiments.report.results import Results
from graphmem.experiments.report.summary import quiet_in_notebooks, show, summary, write_report
from graphmem.experiments.report.tables import Table

__all__ = [
    "Results",
    "Table",
    "draw",
    "must_be_drawable",
    "quiet_in_notebooks",
    "show",
    "summary",
    "write_report",
]
