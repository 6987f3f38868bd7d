from __future__ import annotations

import gzip
import json
import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_parts import CHAT_PASSAGES
from graphmem.errors import InvalidInput, NotFound
from graphmem.experiments import load_dataset
from graphmem.experiments.dataset import DataSet, Question, Record
from graphmem.experiments.formats import FORMATS
from graphmem.experiments.formats.locomo import CATEGORIES
from graphmem.types import Message, Scope

SAMPLES = Path(__file__).parent / "samples"

CHAT = {
    "name": "two small chats",
    "passages": CHAT_PASSAGES,
    "queries": [
        {"id": "q1", "scope": "ana", "text": "Where did Maja move?", "type": "single",
         "gold": ["ana0"]},
        {"id": "q2", "scope": "ana", "text": "What tram is where Maja moved to?", "type": "hop",
         "gold": ["ana0", "ana2"], "stale": ["ana3"], "hops": 2, "answer": "Nora",
         "asked_at": "2025-04-01T09:00:00Z"},
        {"id": "q3", "scope": "bo", "text": "Where did Maja move?", "gold": ["bo0"]},
        {"id": "q4", "scope": "bo", "text": "Who is Zoe?", "type": "abstain", "gold": []},
    ],
}  # fmt: skip
DOCUMENTS = {
    "passages": [
        {"id": "d1", "title": "Lisbon", "text": "Lisbon\nIt lies on the Tagus.",
         "triples": [["Lisbon", "lies on", "Tagus"]]},
        {"id": "d2", "title": "Tagus", "text": "Tagus\nIt rises in Spain."},
        {"id": "d3", "title": "Spain", "text": "Spain\n"},
    ],
    "queries": [
        {"id": "q", "text": "Where does the river of Lisbon rise?", "gold": ["d1", "d2"], "hops": 2}
    ],
}  # fmt: skip


def utc(*parts):
    return datetime(*parts, tzinfo=timezone.utc)


def write(folder, content, name="set.json"):
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def sample(name):
    text = (SAMPLES / name).read_text(encoding="utf-8")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def texts(data, ids):
    found = {record.id: record.full_text for record in data.records}
    return [found[key] for key in ids]


# --- what each format says -----------------------------------------------------------------------


def test_a_chat_keeps_scopes_sessions_speakers_and_times(tmp_path):
    data = load_dataset(write(tmp_path, CHAT, "chat.json"))
    assert data.name == "chat.json"
    assert data.scopes == (Scope("ana"), Scope("bo"))
    first, guess = data.records[:2]
    assert (first.session, first.message.speaker, first.message.role) == ("0", "Ana", "user")
    assert first.message.said_at == utc(2025, 3, 1, 20)
    assert guess.message.role == "assistant"
    assert first.triples[0].object == "Oslo"
    assert [question.kind for question in data.questions] == ["single", "hop", "", "abstain"]
    asked = data.questions[1]
    assert (asked.stale, asked.hops, asked.answer) == (("ana3",), 2, "Nora")
    assert asked.asked_at == utc(2025, 4, 1, 9)
    assert data.questions[2].hops is None
    assert data.left_out == {}


def test_ids_are_texts_or_whole_numbers_wherever_they_stand(tmp_path):
    passages = [{"id": number, "text": f"It rains {number} times."} for number in range(3)]
    query = {"id": 7, "text": "Does it rain?", "gold": [1, "2"], "stale": [0]}
    (asked,) = load_dataset(write(tmp_path, {"passages": passages, "queries": [query]})).questions
    assert (asked.id, asked.gold, asked.stale) == ("7", ("1", "2"), ("0",))


def test_documents_lose_the_title_line_of_their_text(tmp_path):
    path = tmp_path / "documents.json.gz"
    path.write_bytes(gzip.compress(json.dumps(DOCUMENTS).encode()))
    data = load_dataset(path)
    record = data.records[0]
    assert (record.message.title, record.message.text) == ("Lisbon", "It lies on the Tagus.")
    assert record.message.role == "document"
    assert record.session is None
    assert data.records[2].message.text.strip() == "Spain"
    assert (data.questions[0].kind, data.questions[0].hops) == ("", 2)


def test_musique_pools_its_paragraphs_each_once():
    data = load_dataset(SAMPLES / "musique.jsonl")
    titles = [record.message.title for record in data.records]
    assert titles == [
        "Kestrel Weir",
        "Odile Marsh",
        "Amble",
        "Tarn Hollow",
        "Tarn Hollow",
        "Brennick",
    ]
    two, three = data.questions
    assert (two.id, two.kind, two.hops, two.answer) == ("2hop__11_12", "2hop", 2, "Tarn Hollow")
    assert two.text == "Where did the designer of Kestrel Weir study?"
    assert texts(data, three.gold) == [
        "Odile Marsh\nOdile Marsh studied at the school of Tarn Hollow.",
        "Kestrel Weir\nKestrel Weir holds back the river Amble. It was drawn by Odile Marsh.",
        "Tarn Hollow\nTarn Hollow lies in the county of Brennick.",
    ]
    assert (three.kind, three.hops) == ("3hop1", 3)
    assert data.left_out == {"unanswerable questions": 1}
    assert data.scopes == (Scope("everything"),)


def test_a_json_list_of_musique_questions_is_musique_too(tmp_path):
    content = sample("musique.jsonl")
    listed = load_dataset(write(tmp_path, content))
    assert listed.questions == load_dataset(SAMPLES / "musique.jsonl").questions
    (tmp_path / "one.jsonl").write_text(f"\n{json.dumps(content[0])}\n")
    assert load_dataset(tmp_path / "one.jsonl").questions == listed.questions[:1]


def test_hotpot_takes_supporting_passages_from_where_they_are():
    data = load_dataset(SAMPLES / "hotpot.json")
    bridge, comparison = data.questions
    assert texts(data, bridge.gold) == [
        "Velde tram\nThe Velde tram climbs the Gannet hill. It was built by Aske & Sons.",
        "Aske & Sons\nAske & Sons makes trams and lifts. Ruben Aske founded it in a barn.",
    ]
    assert (bridge.kind, bridge.hops, bridge.answer) == ("bridge", 2, "Ruben Aske")
    # The hill is missing in its own context, and stands in the other question's.
    assert texts(data, comparison.gold) == [
        "Gannet hill\nGannet hill is the highest point of Velde.",
        "Mount Sorrel\nMount Sorrel is 812 metres high.",
    ]
    assert comparison.kind == "comparison"
    assert data.left_out == {"questions whose supporting passages are not in the file": 1}
    assert len(data.records) == 4


def test_2wiki_counts_its_evidences_as_hops():
    data = load_dataset(SAMPLES / "2wiki.json")
    (question,) = data.questions
    assert (question.id, question.kind, question.hops) == ("w0", "bridge_comparison", 4)
    assert len(question.gold) == 4
    assert data.records[0].message.text == "Salt Ferry is a film by Ines Corvo. It has no music."


def test_hotpot_in_columns_is_the_same(tmp_path):
    rows = sample("hotpot.json")
    for row in rows:
        facts, context = row["supporting_facts"], row["context"]
        row["id"] = row.pop("_id")
        row["supporting_facts"] = {
            "title": [title for title, _ in facts],
            "sent_id": [sentence for _, sentence in facts],
        }
        row["context"] = {
            "title": [title for title, _ in context],
            "sentences": [sentences for _, sentences in context],
        }
    columns = load_dataset(write(tmp_path, rows, "hotpot.json"))
    assert columns == load_dataset(SAMPLES / "hotpot.json")


def test_locomo_has_a_scope_a_conversation():
    data = load_dataset(SAMPLES / "locomo.json")
    assert data.scopes == (Scope("conv-1"), Scope("conv-2"))
    assert [(record.id, record.session, record.message.speaker) for record in data.records] == [
        ("conv-1:D1:1", "session_1", "Imke"),
        ("conv-1:D1:2", "session_1", "Tobias"),
        ("conv-1:D2:1", "session_2", "Tobias"),
        ("conv-1:D2:2", "session_2", "Imke"),
        ("conv-2:D1:1", "session_1", "Per"),
    ]
    assert [record.message.said_at for record in data.records[1:]] == [
        utc(2024, 2, 8, 13, 56),
        utc(2024, 3, 1, 0, 5),
        utc(2024, 3, 1, 0, 5),
        utc(2023, 12, 31, 12, 30),
    ]
    assert {record.message.role for record in data.records} == {"user"}
    picture = data.records[1].message.text
    assert picture == "Look who moved in with me! [shows a picture: a goat on a kitchen table]"


def test_locomo_reads_evidence_as_it_is_written():
    data = load_dataset(SAMPLES / "locomo.json")
    assert [(question.id, question.kind, question.gold) for question in data.questions] == [
        ("conv-1:q0", "multi-hop", ("conv-1:D1:1", "conv-1:D2:2")),
        ("conv-1:q1", "temporal", ("conv-1:D1:1",)),
        ("conv-1:q3", "single-hop", ("conv-1:D1:2",)),
        ("conv-1:q4", "adversarial", ("conv-1:D2:1",)),
        ("conv-2:q0", "single-hop", ("conv-2:D1:1",)),
    ]
    assert [question.answer for question in data.questions[1:4]] == ["2024", "a goat", ""]
    assert data.questions[-1].scope == Scope("conv-2")
    assert data.left_out == {
        "empty turns": 1,
        "evidence turns that do not exist": 2,
        "questions without evidence": 2,
    }
    assert sorted(CATEGORIES) == [1, 2, 3, 4, 5]


def test_longmemeval_has_a_scope_a_question():
    data = load_dataset(SAMPLES / "longmemeval.json")
    assert data.scopes == (Scope("7e01"), Scope("7e02"), Scope("7e02_abs"))
    own = [record for record in data.records if record.scope == Scope("7e01")]
    assert [(record.session, record.message.role) for record in own] == [
        ("answer_7e01_1", "user"),
        ("answer_7e01_1", "assistant"),
        ("chatter_3", "user"),
        ("chatter_3", "assistant"),
        ("chatter_3#3", "user"),
        ("chatter_3#3", "assistant"),
        ("answer_7e01_2", "user"),
        ("answer_7e01_2", "assistant"),
    ]
    assert own[0].message.said_at == utc(2023, 5, 20, 2, 21)
    assert own[1].message.speaker == "assistant"
    assert len({record.id for record in data.records}) == len(data.records)
    assert data.left_out == {"empty turns": 1}


def test_longmemeval_questions_rest_on_marked_turns_or_whole_sessions():
    data = load_dataset(SAMPLES / "longmemeval.json")
    update, whole, abstention = data.questions
    assert texts(data, update.gold) == [
        "I have four beehives. How do I winter them?",
        "Two swarms came, so I keep six hives now.",
    ]
    assert (update.kind, update.answer) == ("knowledge-update", "6")
    assert update.asked_at == utc(2023, 5, 30, 23, 40)
    assert len(whole.gold) == 2
    assert (abstention.kind, abstention.gold) == ("abstention", ())


@pytest.mark.parametrize("name", ["hipporag", "hipporag/orchards.json"])
def test_hipporag_reads_corpus_questions_and_triples(name):
    data = load_dataset(SAMPLES / name)
    assert data.name == "orchards.json"
    assert [record.message.title for record in data.records] == [
        "Nils Vatne",
        "Skarv orchard",
        "Skarv",
    ]
    assert [[triple.predicate for triple in record.triples] for record in data.records] == [
        ["inherited"],
        ["planted by"],
        [],
    ]
    assert [question.gold for question in data.questions] == [
        ("p0", "p1"),
        ("p1", "p2"),
        ("p2",),
        ("p0",),
    ]
    assert [question.id for question in data.questions] == ["2hop__1_2", "f00d", "2", "3"]
    assert [question.kind for question in data.questions] == ["2hop", "bridge", "", ""]
    assert [question.hops for question in data.questions] == [2, 2, 1, 1]
    assert [question.answer for question in data.questions[1:3]] == ["Skarv", "one; 1"]
    assert data.left_out == {
        "malformed triples": 3,
        "OpenIE passages that are not in the corpus": 1,
        "repeated passages": 1,
    }


@pytest.fixture
def orchards(tmp_path):
    folder = tmp_path / "reproduce" / "dataset"
    shutil.copytree(SAMPLES / "hipporag", folder)
    return folder


def test_hipporag_finds_triples_where_it_puts_them(orchards):
    results = orchards / "openie_results_ner_scribe.json"
    home = orchards.parent.parent / "outputs" / "orchards"
    home.mkdir(parents=True)
    results.rename(home / results.name)
    assert sum(len(record.triples) for record in load_dataset(orchards).records) == 2
    (home / results.name).unlink()
    assert sum(len(record.triples) for record in load_dataset(orchards).records) == 0


def test_hipporag_1_wrote_its_corpus_as_titles_with_sentences(orchards):
    old = {
        "Nils Vatne": ["Nils Vatne inherited", " the Skarv orchard."],
        "Skarv orchard": ["The Skarv orchard was planted by Gro Vatne."],
        "Skarv": ["Skarv is an island with one road."],
    }
    expected = load_dataset(orchards).records
    write(orchards, old, "orchards_corpus.json")
    results = orchards / "openie_results_ner_scribe.json"
    results.rename(orchards / "openie_orchards_results_ner_scribe_3.json")
    assert load_dataset(orchards).records == expected


def test_hipporag_needs_to_know_which_files(orchards, tmp_path):
    with pytest.raises(InvalidInput, match=r"reproduce is a folder.*name a file in it"):
        load_dataset(orchards.parent)
    results = orchards / "openie_results_ner_scribe.json"
    shutil.copy(results, orchards / "openie_results_ner_other.json")
    with pytest.raises(InvalidInput, match=r"several.*orchards\.json.*other.*scribe"):
        load_dataset(orchards)
    shutil.copy(orchards / "orchards_corpus.json", orchards / "more_corpus.json")
    shutil.copy(orchards / "orchards.json", orchards / "more.json")
    with pytest.raises(InvalidInput, match=r"not more\.json, orchards\.json"):
        load_dataset(orchards)
    alone = write(tmp_path, sample("hipporag/orchards.json")[:1], "orchards.json")
    assert load_dataset(alone).questions[0].kind == "2hop"
    with pytest.raises(InvalidInput, match=r"orchards_corpus\.json is missing"):
        load_dataset(alone, "hipporag")


# --- which format --------------------------------------------------------------------------------

FILES = {
    "hipporag": "hipporag/orchards.json",
    "locomo": "locomo.json",
    "longmemeval": "longmemeval.json",
    "musique": "musique.jsonl",
    "hotpot": "hotpot.json",
}


@pytest.mark.parametrize("name", FILES)
def test_the_content_tells_the_format_as_its_name_does(name):
    path = SAMPLES / FILES[name]
    assert load_dataset(path) == load_dataset(path, name)
    assert {*FILES, "normal"} == set(FORMATS)


def test_a_named_format_wins(orchards):
    rows = sample("hipporag/orchards.json")[:1]
    path = write(orchards, rows, "orchards.json")
    assert load_dataset(path).left_out
    assert load_dataset(path, "musique").left_out == {}


def test_an_unknown_format_is_told_with_the_known_ones(tmp_path):
    path = write(tmp_path, [{"sentence": "hello"}], "odd.json")
    with pytest.raises(InvalidInput) as error:
        load_dataset(path)
    for word in ("odd.json", *FORMATS):
        assert word in str(error.value)
    with pytest.raises(InvalidInput, match=r"'squad'.*hipporag, normal, locomo"):
        load_dataset(path, "squad")
    with pytest.raises(InvalidInput, match="is a folder"):
        load_dataset(tmp_path, "musique")


def test_no_file(tmp_path):
    with pytest.raises(NotFound, match="never"):
        load_dataset(tmp_path / "never.json")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\x1f\x8b broken",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"7",
        b"[" * 100_000,
        b'{"a":1} x',
    ],
)
def test_a_file_that_is_no_data_set(tmp_path, content):
    path = tmp_path / "wrong.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"wrong\.json"):
        load_dataset(path)


def test_damaged_json_lines_are_told_by_line(tmp_path):
    path = tmp_path / "wrong.jsonl"
    good = (SAMPLES / "musique.jsonl").read_text().splitlines()[0]
    path.write_text(f"{good}\n{good[:40]}\n")
    with pytest.raises(InvalidInput, match=r"wrong\.jsonl.*line 2"):
        load_dataset(path)


# --- what is wrong, and where --------------------------------------------------------------------


def chat():
    return json.loads(json.dumps(CHAT))


NORMAL = [
    (lambda c: c.pop("passages"), "the file", "passages"),
    (lambda c: c.update(queries={}), "the file", "queries"),
    (lambda c: c["passages"].insert(1, 7), "passages[1]", "an object"),
    (lambda c: c["passages"][2].pop("text"), "passages[2] (ana2)", "text"),
    (lambda c: c["passages"][2].update(text=3), "passages[2] (ana2)", "text"),
    (lambda c: c["passages"][2].update(id="ana0"), "passages[2] (ana0)", "id"),
    (lambda c: c["passages"][0].update(session_time="noon"), "passages[0] (ana0)", "ISO 8601"),
    (lambda c: c["passages"][0].update(session_time="2025-03-01T20:00"), "(ana0)", "time zone"),
    (lambda c: c["passages"][0].update(triples=[["a", "b"]]), "(ana0)", "triples"),
    (lambda c: c["passages"][0].update(session=1.5), "(ana0)", "session"),
    (lambda c: c["passages"][0].update(scope="a\u0000b"), "(ana0)", "scope"),
    (lambda c: c["queries"][1].update(gold=["bo0"]), "queries[1] (q2)", "gold"),
    (lambda c: c["queries"][1].update(stale=["zoe9"]), "queries[1] (q2)", "stale"),
    (lambda c: c["queries"][1].update(gold="ana0"), "queries[1] (q2)", "gold"),
    (lambda c: c["queries"][1].update(gold=[1.5]), "queries[1] (q2)", "whole number"),
    (lambda c: c["queries"][1].update(hops="two"), "queries[1] (q2)", "hops"),
    (lambda c: c["queries"][1].update(asked_at="soon"), "queries[1] (q2)", "asked_at"),
    (lambda c: c["queries"][1].update(id="q1"), "queries[1] (q1)", "id"),
    (lambda c: c["queries"][0].pop("id"), "queries[0]", "id"),
]
MUSIQUE = [
    (lambda c: c.insert(1, "x"), "[1]", "an object"),
    (lambda c: c[1].pop("paragraphs"), "[1] (3hop1__11_12_13)", "paragraphs"),
    (lambda c: c[1].update(id="2hop__11_12"), "[1] (2hop__11_12)", "id"),
    (lambda c: c[0].pop("question"), "[0] (2hop__11_12)", "question"),
    (lambda c: c[0]["paragraphs"][1].pop("is_supporting"), "paragraphs[1] (1)", "is_supporting"),
    (lambda c: c[0]["paragraphs"][1].update(is_supporting="yes"), "paragraphs[1]", "true or false"),
    (lambda c: c[0]["paragraphs"][2].pop("paragraph_text"), "(2hop__11_12): paragraphs[2]", "text"),
    (lambda c: c[0]["paragraphs"].pop(1) and c[0]["paragraphs"].pop(0), "[0]", "supporting"),
    (lambda c: c[0].update(answerable="no"), "[0] (2hop__11_12)", "answerable"),
    (lambda c: c[0].update(question_decomposition=2), "[0]", "question_decomposition"),
    (lambda c: c[0]["paragraphs"][2].update(title="", paragraph_text=" "), "[2] (2)", "a title"),
    (lambda c: c[0].update(answer={}), "[0] (2hop__11_12)", "answer"),
]
HOTPOT = [
    (lambda c: c[1].pop("supporting_facts"), "[1] (a1f1)", "supporting_facts"),
    (lambda c: c[1].update(supporting_facts=[]), "[1] (a1f1)", "supporting_facts"),
    (lambda c: c[1].update(supporting_facts=[["Velde"]]), "[1] (a1f1)", "supporting_facts"),
    (lambda c: c[1]["context"].append(["Velde", "Velde is green."]), "[1] (a1f1)", "context"),
    (lambda c: c[1]["context"].append("Velde"), "[1] (a1f1): context", "item 2"),
    (lambda c: c[1].update(context={"title": ["a"], "sentences": []}), "[1] (a1f1)", "context"),
    (lambda c: c[1].update(_id="a1f0"), "[1] (a1f0)", "_id"),
    (lambda c: c[1].update(question=" "), "[1] (a1f1)", "question"),
    (lambda c: c[1].update(type=5), "[1] (a1f1)", "type"),
]
LOCOMO = [
    (lambda c: c[1].pop("sample_id"), "[1]", "sample_id"),
    (lambda c: c[1].update(sample_id="conv-1"), "[1] (conv-1)", "sample_id"),
    (lambda c: c[0].update(conversation=[]), "[0] (conv-1): conversation", "an object"),
    (lambda c: c[0]["conversation"].update(session_1="x"), "(conv-1): conversation", "session_1"),
    (
        lambda c: c[0]["conversation"].update(session_1_date_time="noon"),
        "conversation: session_1_date_time",
        "1:56 pm",
    ),
    (
        lambda c: c[0]["conversation"].update(session_1_date_time="1:56 pm on 31 June, 2024"),
        "conversation: session_1_date_time",
        "day",
    ),
    (
        lambda c: c[0]["conversation"]["session_1"][1].pop("speaker"),
        "(conv-1): conversation: session_1[1] (D1:2)",
        "speaker",
    ),
    (
        lambda c: c[0]["conversation"]["session_2"][1].update(dia_id="D2:1"),
        "session_2[1] (D2:1)",
        "dia_id",
    ),
    (lambda c: c[0]["conversation"]["session_2"][0].update(text=1), "session_2[0]", "text"),
    (lambda c: c[0]["qa"][1].pop("category"), "(conv-1): qa[1]", "category"),
    (lambda c: c[0]["qa"][1].update(category=6), "(conv-1): qa[1]", "from 1 to 5"),
    (lambda c: c[0]["qa"][1].update(evidence="D1:1"), "(conv-1): qa[1]", "evidence"),
    (lambda c: c[0]["qa"][1].update(question=None), "(conv-1): qa[1]", "question"),
]
LONGMEMEVAL = [
    (lambda c: c[1].pop("question_id"), "[1]", "question_id"),
    (lambda c: c[1].update(question_id="7e01"), "[1] (7e01)", "question_id"),
    (lambda c: c[0]["haystack_dates"].pop(), "[0] (7e01): haystack_dates", "4 for 5 sessions"),
    (lambda c: c[0]["haystack_session_ids"].append("x"), "haystack_session_ids", "6 for 5"),
    (lambda c: c[0]["haystack_dates"].insert(0, "May"), "[0] (7e01): haystack_dates", "23:40"),
    (lambda c: c[0].update(question_date="2023/02/30"), "[0] (7e01)", "question_date"),
    (
        lambda c: c[0]["haystack_sessions"][1][0].update(role="system"),
        "[0] (7e01): haystack_sessions[1][0]",
        "role",
    ),
    (
        lambda c: c[0]["haystack_sessions"][1][0].pop("content"),
        "[0] (7e01): haystack_sessions[1][0]",
        "content",
    ),
    (lambda c: c[0]["haystack_sessions"][0].append([]), "haystack_sessions[0][2]", "an object"),
    (
        lambda c: c[0]["haystack_sessions"][0][0].update(has_answer=1),
        "haystack_sessions[0][0]",
        "has_answer",
    ),
    (lambda c: c[0]["haystack_sessions"].insert(0, {}), "haystack_sessions", "a list"),
    (lambda c: c[1].pop("answer_session_ids"), "[1] (7e02)", "answer_session_ids"),
    (lambda c: c[1].pop("question_type"), "[1] (7e02)", "question_type"),
]
DAMAGE = [
    *(("normal", chat, *case) for case in NORMAL),
    *(("musique", lambda: sample("musique.jsonl"), *case) for case in MUSIQUE),
    *(("hotpot", lambda: sample("hotpot.json"), *case) for case in HOTPOT),
    *(("locomo", lambda: sample("locomo.json"), *case) for case in LOCOMO),
    *(("longmemeval", lambda: sample("longmemeval.json"), *case) for case in LONGMEMEVAL),
]


@pytest.mark.parametrize(("name", "build", "change", "place", "field"), DAMAGE)
def test_a_wrong_file_is_told_by_file_record_and_field(tmp_path, name, build, change, place, field):
    content = build()
    path = write(tmp_path, content, "wrong.json")
    assert load_dataset(path).questions
    change(content)
    path = write(tmp_path, content, "wrong.json")
    with pytest.raises(InvalidInput) as error:
        load_dataset(path, name)
    for word in ("wrong.json", place, field):
        assert word in str(error.value)


HIPPORAG = [
    ("orchards.json", lambda c: c[3].pop("gold_docs"), "[3]", "gold_docs"),
    ("orchards.json", lambda c: c[3].update(gold_docs=["Elsewhere"]), "[3]", "Elsewhere"),
    ("orchards.json", lambda c: c[1]["context"].pop(0), "[1] (f00d)", "supporting_facts"),
    ("orchards.json", lambda c: c[2]["contexts"].pop(0), "[2]", "contexts"),
    ("orchards.json", lambda c: c[1].update(_id="2hop__1_2"), "[1] (2hop__1_2)", "_id"),
    ("orchards_corpus.json", lambda c: c[2].pop("text"), "[2] (2)", "text"),
    ("orchards_corpus.json", lambda c: c.insert(2, "Skarv"), "[2]", "an object"),
    ("orchards_corpus.json", lambda c: c[1].update(title=1), "[1] (1)", "title"),
    ("openie_results_ner_scribe.json", lambda c: c.pop("docs"), "the file", "docs"),
    ("openie_results_ner_scribe.json", lambda c: c["docs"][1].pop("passage"), "docs[1]", "passage"),
    (
        "openie_results_ner_scribe.json",
        lambda c: c["docs"][1].update(extracted_triples={}),
        "docs[1] (chunk-0002)",
        "extracted_triples",
    ),
]


@pytest.mark.parametrize(("name", "change", "place", "field"), HIPPORAG)
def test_a_wrong_file_of_hipporag_is_told_by_its_own_name(orchards, name, change, place, field):
    content = json.loads((orchards / name).read_text())
    change(content)
    write(orchards, content, name)
    with pytest.raises(InvalidInput) as error:
        load_dataset(orchards)
    for word in (name, place, field):
        assert word in str(error.value)


def test_an_error_stays_short(tmp_path):
    content = chat()
    content["passages"][0]["text"] = ["word " * 5000] * 50
    content["passages"][0]["id"] = "very long id " * 500
    with pytest.raises(InvalidInput) as error:
        load_dataset(write(tmp_path, content))
    assert "passages[0] (very long id" in str(error.value)
    assert len(str(error.value)) < 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


def paths(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    for key, one in inner:
        yield from paths(one, (*path, key))


def damaged(content, path, value):
    if not path:
        return value
    content = json.loads(json.dumps(content))
    inside = content
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return content


CONTENTS = {
    "normal": CHAT,
    "musique": sample("musique.jsonl"),
    "hotpot": sample("hotpot.json"),
    "locomo": sample("locomo.json"),
    "longmemeval": sample("longmemeval.json"),
    "hipporag": sample("hipporag/orchards.json"),
}

BESIDE = ["orchards_corpus.json", "openie_results_ner_scribe.json"]


def loaded(path, name=None):
    """The data set, or what the error says."""
    try:
        return load_dataset(path, name), ""
    except InvalidInput as error:
        return None, str(error)


@given(content=JSON, name=st.sampled_from([None, *FORMATS]))
def test_any_json_is_a_data_set_or_an_error_of_ours(tmp_path_factory, content, name):
    path = write(tmp_path_factory.getbasetemp(), content, "any.json")
    with pytest.raises(InvalidInput, match=r"any"):
        load_dataset(path, name)


@given(data=st.data())
def test_any_damage_is_a_data_set_or_an_error_of_ours(tmp_path_factory, data):
    name = data.draw(st.sampled_from(sorted(CONTENTS)))
    path = data.draw(st.sampled_from(list(paths(CONTENTS[name]))))
    content = damaged(CONTENTS[name], path, data.draw(JSON))
    folder = tmp_path_factory.getbasetemp()
    file = write(folder, content, "orchards.json")
    for other in BESIDE:
        if name == "hipporag" and not (folder / other).exists():
            shutil.copy(SAMPLES / "hipporag" / other, folder)
    found, error = loaded(file, name)
    assert found or "orchards" in error
    if found:
        ids = {record.id for record in found.records}
        assert all(ids.issuperset(question.gold) for question in found.questions)
        # What is read can be written: into a store, into results.
        "".join(question.id + question.text for question in found.questions).encode()
        "".join(record.id + record.full_text for record in found.records).encode()


@given(
    file=st.sampled_from(["orchards_corpus.json", "openie_results_ner_scribe.json"]), data=st.data()
)
def test_any_damage_beside_the_questions(tmp_path_factory, file, data):
    folder = tmp_path_factory.mktemp("set")
    for path in (SAMPLES / "hipporag").iterdir():
        shutil.copy(path, folder)
    content = sample(f"hipporag/{file}")
    place = data.draw(st.sampled_from(list(paths(content))))
    write(folder, damaged(content, place, data.draw(JSON)), file)
    found, error = loaded(folder)
    assert found or "orchards" in error or file in error


# --- data sets as values -------------------------------------------------------------------------


def made(records):
    return tuple(
        Record(
            key,
            Scope(scope),
            session,
            Message(f"text {key}", role="user" if session else "document"),
        )
        for key, scope, session in records
    )


SET = DataSet(
    "made",
    made([(f"d{n}", "docs", None) for n in range(30)] + [(f"m{n}", "chat", "s") for n in range(5)]),
    tuple(Question(f"q{n}", Scope("docs" if n else "chat"), "?", ()) for n in range(20)),
)


def test_a_sample_keeps_all_records_that_its_questions_ask():
    drawn = SET.sample(7, seed=3)
    assert len(drawn.questions) == 7
    assert list(drawn.questions) == [one for one in SET.questions if one in drawn.questions]
    assert drawn.scopes == tuple(sorted({question.scope for question in drawn.questions}))
    assert [one.id for one in drawn.records if one.scope.user == "docs"] == [
        f"d{n}" for n in range(30)
    ]
    assert SET.sample(7, seed=3) == drawn
    assert SET.sample(7, seed=4) != drawn
    assert SET.sample(20) is SET
    with pytest.raises(InvalidInput, match="at least 1"):
        SET.sample(0)


def test_shuffling_moves_documents_and_leaves_conversations():
    mixed = SET.shuffled(1)
    assert mixed.records[30:] == SET.records[30:]
    assert mixed.records[:30] != SET.records[:30]
    assert sorted(one.id for one in mixed.records) == sorted(one.id for one in SET.records)
    assert SET.shuffled(1) == mixed
    assert SET.shuffled(2) != mixed
