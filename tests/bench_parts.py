"""Two small data sets as files, and a quiet run, for the tests of the bench."""

from __future__ import annotations

import gzip
import io
import json

from rich.console import Console

from graphmem.experiments import bench_recall
from graphmem.testing import HashEmbedder

OWN = "experiment_parts:Backwards"

CHAT_PASSAGES = [
    {
        "id": f"{scope}{number}",
        "scope": scope,
        "session": number // 2,
        "session_time": f"2025-03-0{1 + number // 2}T20:00:00+00:00",
        "speaker": speaker,
        "text": text,
        "triples": triples,
    }
    for scope, lines in {
        "ana": [
            ("Ana", "Maja moved to Oslo", [["Maja", "moved to", "Oslo"]]),
            ("Assistant", "Maja loves fish, I guess", [["Maja", "loves", "fish"]]),
            ("Ana", "Oslo has a tram called Nora", [["Oslo", "has", "Nora"]]),
            ("Ana", "it rained", []),
        ],
        "bo": [("Bo", "Maja moved to Ghent", [["Maja", "moved to", "Ghent"]])],
    }.items()
    for number, (speaker, text, triples) in enumerate(lines)
]
CHAT = {
    "name": "two small chats",
    "passages": CHAT_PASSAGES,
    "queries": [
        {"id": "q1", "scope": "ana", "text": "Where did Maja move?", "type": "single",
         "gold": ["ana0"]},
        {"id": "q2", "scope": "ana", "text": "What tram is where Maja moved to?", "type": "update",
         "gold": ["ana0", "ana2"], "stale": ["ana3"]},
        {"id": "q3", "scope": "bo", "text": "Where did Maja move?", "type": "single",
         "gold": ["bo0"]},
        {"id": "q4", "scope": "bo", "text": "Who is Zoe?", "type": "abstain", "gold": []},
    ],
}  # fmt: skip
RIVERS = ("Tagus", "Douro", "Minho", "Ebro", "Sado", "Guadiana")
TOWNS = ("Lisbon", "Porto", "Tui", "Tortosa", "Setubal", "Badajoz")
DOCUMENTS = {
    "passages": [
        *(
            {"id": f"t{n}", "title": town, "text": f"{town}\n{town} lies on the {river}.",
             "triples": [[town, "lies on", river]]}
            for n, (town, river) in enumerate(zip(TOWNS, RIVERS, strict=True))
        ),
        *(
            {"id": f"r{n}", "title": river, "text": f"{river}\nIt rises in range {n}.",
             "triples": [[river, "rises in", f"range {n}"]]}
            for n, river in enumerate(RIVERS)
        ),
    ],
    "queries": [
        {"id": f"q{n}", "text": f"Where does the river of {town} rise?",
         "gold": [f"t{n}", f"r{n}"], "hops": 2, "answer": f"range {n}"}
        for n, town in enumerate(TOWNS)
    ],
}  # fmt: skip


def write_chat(folder):
    path = folder / "chat.json"
    path.write_text(json.dumps(CHAT))
    return path


def write_documents(folder):
    path = folder / "documents.json.gz"
    path.write_bytes(gzip.compress(json.dumps(DOCUMENTS).encode()))
    return path


def quiet():
    return Console(file=io.StringIO(), width=200)


def bench(data, systems=("graphmem",), **options):
    options.setdefault("embed_model", HashEmbedder())
    options.setdefault("console", quiet())
    return bench_recall(data, systems, **options)
