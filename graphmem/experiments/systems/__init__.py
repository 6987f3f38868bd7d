"""What is measured: a system takes a data set in and ranks its records for a question.

``interface`` says what a system is, ``opening`` which there are and how one of your own is named.
"""

from graphmem.experiments.systems.graphmem import GraphMemorySystem
from graphmem.experiments.systems.interface import (
    BUDGET,
    Answer,
    Kind,
    Parts,
    Progress,
    Retunable,
    System,
)
from graphmem.experiments.systems.opening import (
    SYSTEMS,
    kind_of,
    name_of,
    open_system,
    place_of,
)

__all__ = [
    "BUDGET",
    "SYSTEMS",
    "Answer",
    "GraphMemorySystem",
    "Kind",
    "Parts",
    "Progress",
    "Retunable",
    "System",
    "kind_of",
    "name_of",
    "open_system",
    "place_of",
]
