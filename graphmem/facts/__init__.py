"""Facts out of triples: rules only, no state and no clock.

The store keeps *evidence*: one row for each triple that a passage gave. What it believes is
computed from the rows and from what people ruled, so that it depends neither on their order nor on
how they were cut into batches, and so that taking a row away leaves what would have been without
it. ``evidence`` has the rows, ``merging`` makes facts of them, ``contests`` decides between facts,
``past`` tells what is and was believed.
"""

from graphmem.facts.contests import (
    Outcome,
    Retirement,
    Stated,
    contests,
    denied_ends,
    denied_slots,
    denied_value,
    slot,
    value,
)
from graphmem.facts.evidence import (
    PEOPLE,
    Evidence,
    Ruling,
    entity_id,
    entity_id_of,
    fact_id,
    is_trusted,
    reject_reason,
)
from graphmem.facts.merging import merge
from graphmem.facts.past import believed, held
from graphmem.families import SINGLE_VALUED
from graphmem.grounding import Ground, ground

__all__ = [
    "PEOPLE",
    "SINGLE_VALUED",
    "Evidence",
    "Ground",
    "Outcome",
    "Retirement",
    "Ruling",
    "Stated",
    "believed",
    "contests",
    "denied_ends",
    "denied_slots",
    "denied_value",
    "entity_id",
    "entity_id_of",
    "fact_id",
    "ground",
    "held",
    "is_trusted",
    "merge",
    "reject_reason",
    "slot",
    "value",
]
