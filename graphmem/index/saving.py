"""A scope's derived index on disk: a snapshot that opens as a file map, or is thrown away.

Beside a store ``m.db`` lies the folder ``m.db.index`` and in it one folder for each scope, named by
a hash. There, a *container* holds the arrays of an index as of one place in the store's log, and
names the *segments* (vectors, written before it by their owner) that belong to it. Both are written
once under a name of their own and never changed, so that a reader's map stays valid whatever else
happens; a new snapshot is a new container, renamed into place when it is whole and on the disk.

Rows are the truth: a snapshot that is torn, damaged, or of another store, setting, version or
history is removed and the index is built from the rows. So nothing here raises because of what it
finds on the disk, and a disk that refuses costs time at the next opening, nothing else.

Several processes may save, load and remove at the same time. Who loses a race finds a file missing,
which is the same as having no snapshot.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import stat
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from graphmem.errors import InvalidInput
from graphmem.identity import content_id
from graphmem.index import container
from graphmem.index.container import Damaged
from graphmem.syncing import sync
from graphmem.types import Scope

__all__ = ["Home", "Loaded", "Refused", "Segment", "Source", "sweep"]

logger = logging.getLogger(__name__)

_KEY = re.compile(r"scope-[0-9a-f]{32}")
# Sequence number and time of saving, so that names sort from the oldest to the newest.
_CONTAINER = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}-[0-9a-f]{8}\.arrays")
_SEGMENT = re.compile(r"[0-9a-f]{32}\.segment")
_DRAFT = ".part"
_REMOVED = ".removed-"

# What nobody names may be another process's that is about to: left alone for so many seconds.
_GRACE = 3600.0


@dataclass(frozen=True, slots=True)
class Source:
    """What an index is made from and by: a snapshot serves only where all of it is equal.

    Attributes:
        store: the store's identity, which a copy of it shares and a new store at its path does not.
        settings: fingerprint of all settings, and of the stemmer, that shape the arrays.
        version: of the arrays' meaning; counts up when it changes.
    """

    store: str
    settings: str
    version: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of the scope's folder that belongs to snapshots and is never changed.

    Attributes:
        name: its name in the folder.
        size: bytes.
        checksum: see ``graphmem.index.container``.
    """

    name: str
    size: int
    checksum: int

    @classmethod
    def of(cls, path: Path) -> Segment:
        """A file that is complete; it is read once."""
        size = path.stat().st_size
        return cls(path.name, size, container.file_checksum(path, size))


class _Outdated(Damaged):
    """A whole snapshot of something else: other settings, another version, another history."""


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A snapshot that can be trusted.

    Attributes:
        seq: the place in the log that it stands for: later changes are to be added.
        arrays: read-only views of a mapped file.
        segments: verified, in the order in which they were given.
    """

    seq: int
    arrays: Mapping[str, NDArray[Any]]
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """No snapshot that can be trusted: the index is to be built from the rows.

    Attributes:
        why: the reason, in words for a log.
    """

    why: str


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one scope's derived files beside its store.

    Attributes:
        store: the store's file.
        scope: whose; no name of it is written, neither in a path nor in a file.
    """

    store: Path
    scope: Scope

    @property
    def folder(self) -> Path:
        """Where the files are; it need not exist."""
        return _root(self.store) / _key(self.scope)

    def make(self) -> Path | None:
        """The folder, made if need be and as private as the store; None where there can be none.

        Then everything stays in memory. One log record for each store says so.
        """
        try:
            mode = stat.S_IMODE(self.store.stat().st_mode) & 0o666 | 0o600
            for folder in (_root(self.store), self.folder):
                _make_folder(folder, mode | (mode & 0o444) >> 2)
        except OSError as error:
            _say_once(self.store, type(error).__name__, error.strerror or str(error))
            return None
        return self.folder

    def new_segment(self) -> Path | None:
        """A path for a new segment: nothing lies there. None where there can be no files."""
        folder = self.make()
        return folder and folder / f"{uuid.uuid4().hex}.segment"

    def save(
        self,
        source: Source,
        arrays: Mapping[str, NDArray[Any]],
        segments: Sequence[Segment] = (),
        *,
        seq: int,
        digest: str,
    ) -> bool:
        """Save a snapshot, whole or not at all, then remove what it replaces.

        When this returns True it survives a power cut. The arrays must not change meanwhile.

        Args:
            source: what the index is made from and by.
            arrays: of booleans, numbers, or bytes of a fixed length, by name.
            segments: the files that belong to it, at paths that ``new_segment`` gave.
            seq: the place in the log that it stands for.
            digest: of the log's row there, to tell one history from another.

        Returns:
            False where it could not be: no folder, a full disk, a segment that is gone (another
            process has replaced the snapshot that it was of: write the vectors anew), or another
            process has just saved a newer one or removed everything.

        Raises:
            InvalidInput: an array of another type, a segment from elsewhere.
        """
        _check(seq, segments)
        folder = self.make()
        if folder is None:
            return False
        token = uuid.uuid4().hex
        name = f"{seq:016x}-{time.time_ns():016x}-{token[:8]}.arrays"
        about = asdict(source) | {
            "scope": _key(self.scope),
            "seq": seq,
            "digest": digest,
            "segments": [(one.name, one.size, one.checksum) for one in segments],
        }
        try:
            _settle(folder, segments)
            _publish(folder, name, lambda file: container.write(file, about, arrays))
            _tidy(folder, name)
            _must_stand(folder / name, segments)
        except OSError as error:
            logger.warning("no snapshot of an index saved in %s: %s", folder, error)
            return False
        return True

    def load(self, source: Source, is_current: Callable[[int, str], bool]) -> Loaded | Refused:
        """The newest snapshot that can be trusted, verified to the last byte.

        What cannot be is removed. Work: one pass over all bytes, in two threads if there are many.

        Args:
            source: what the snapshot must be made from and by.
            is_current: called with a snapshot's ``seq`` and ``digest``: whether the store's log has
                that row, so that the snapshot is of this history. What it raises is passed on.
        """
        reasons = []
        tried: set[Path] = set()
        # Looked up anew each time: another process may put a newer one in place of what is gone.
        while paths := [path for path in _containers(self.folder) if path not in tried]:
            tried.add(paths[0])
            try:
                return self._load(paths[0], source, is_current)
            except Damaged as error:
                reasons.append(str(error))
                if paths[0].exists():  # else another process has replaced it
                    level = logging.INFO if isinstance(error, _Outdated) else logging.WARNING
                    logger.log(level, "snapshot %s removed: %s", paths[0], error)
                    _drop([paths[0]], [path for path in paths if path != paths[0]])
            except OSError as error:  # says nothing about the file: it is left alone
                reasons.append(f"it cannot be read: {error.strerror}")
                logger.info("snapshot %s not read: %s", paths[0], error)
        return Refused(reasons[0] if reasons else "there is none")

    def _load(self, path: Path, source: Source, is_current: Callable[[int, str], bool]) -> Loaded:
        with path.open("rb") as file:
            header = container.Header.read(file)
            wanted = asdict(source) | {"scope": _key(self.scope)}
            about = header.about
            for key, value in wanted.items():
                if about.get(key) != value:
                    raise _Outdated(f"it is of another {key}")
            segments = _segments(about)
            seq, digest = about.get("seq"), about.get("digest")
            if not isinstance(seq, int) or not isinstance(digest, str):
                raise Damaged("its header makes no sense")
            if not is_current(seq, digest):
                raise _Outdated("it is of another history of the store")
            container.verify(header.extents(path) + _extents(self.folder, segments))
            return Loaded(seq, header.arrays(file), segments)

    def purge(self) -> bool:
        """Remove everything of the scope, at once for whoever looks.

        A save that is under way fails. What a process has mapped stays readable to it alone.

        Returns:
            Whether nothing is left.
        """
        return _remove_folder(self.folder)


def sweep(store: Path, scopes: Iterable[Scope]) -> None:
    """Remove what interrupted processes left, and the folders of scopes that are gone.

    Args:
        store: the store's file.
        scopes: all that the store has.
    """
    keys = {_key(scope) for scope in scopes}
    for folder in _listed(_root(store)):
        if folder.name.startswith(_REMOVED):
            _remove(folder)
        elif _KEY.fullmatch(folder.name):
            if folder.name in keys:
                _remove_strays(folder)
            elif _is_old(folder):
                _remove_folder(folder)
    with suppress(OSError):
        _root(store).rmdir()  # if it is empty


def _root(store: Path) -> Path:
    return store.with_name(f"{store.name}.index")


def _key(scope: Scope) -> str:
    return content_id("scope", scope.user, scope.agent)


# --- folders -------------------------------------------------------------------------------------


def _make_folder(folder: Path, mode: int) -> None:
    """Make a folder, or take one that is no link and as private as it must be."""
    try:
        folder.mkdir(0o700)
        sync(folder.parent)
    except FileExistsError:
        pass
    if not _is_folder(folder):
        raise NotADirectoryError(f"{folder} is a link or a file")
    if os.name == "posix" and folder.stat().st_mode & 0o777 != mode:
        folder.chmod(mode)  # refused where the folder is somebody else's
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written")


def _is_folder(path: Path) -> bool:
    """Whether it is a folder, and not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _listed(folder: Path) -> list[Path]:
    """What lies in a folder; nothing where it is a link, or is not there."""
    if not _is_folder(folder):
        return []
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _files(folder: Path) -> list[Path]:
    """The files of a scope's folder; nothing where a link leads to it."""
    if not _is_folder(folder.parent):
        return []
    return [path for path in _listed(folder) if _is_file(path)]


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _is_old(path: Path) -> bool:
    try:
        return abs(time.time() - path.lstat().st_mtime) > _GRACE
    except OSError:
        return False


def _remove_folder(folder: Path) -> bool:
    """Set a folder aside in one step, so that nobody finds half of it, and remove it."""
    if not (_is_folder(folder.parent) and _is_folder(folder)):
        return not os.path.lexists(folder)
    aside = folder.with_name(f"{_REMOVED}{uuid.uuid4().hex}")
    try:
        folder.rename(aside)
    except OSError:  # gone, or (Windows) a file in it is mapped
        aside = folder
    held = _held(aside)
    is_gone = _remove(aside)
    try:
        threading.Thread(target=_close, args=(held,), daemon=True).start()
    except RuntimeError:  # no thread to be had, as when the interpreter ends
        _close(held)
    with suppress(OSError):
        folder.parent.rmdir()  # if it was the last
    return is_gone


def _remove(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not os.path.lexists(folder)


def _held(folder: Path) -> list[int]:
    """Descriptors of a folder's files, to be closed when the files have lost their names.

    A disk takes a tenth of a second to free half a gigabyte, and does so at the last of the two: so
    the name is gone at once, and the room a little later, even if the process dies before.
    """
    held: list[int] = []
    for path in _listed(folder) if os.name == "posix" else []:
        with suppress(OSError):
            held.append(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK))
    return held


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


@lru_cache(maxsize=256)
def _say_once(store: Path, kind: str, reason: str) -> None:
    logger.info("indexes of %s stay in memory: no folder beside it (%s: %s)", store, kind, reason)


# --- files of a folder ---------------------------------------------------------------------------


def _check(seq: int, segments: Sequence[Segment]) -> None:
    if seq < 0:
        raise InvalidInput(f"a sequence number is not negative: {seq}")
    for one in segments:
        if not _SEGMENT.fullmatch(one.name):
            raise InvalidInput(f"not a segment's name: {one.name!r}; ask new_segment() for one")


def _containers(folder: Path) -> list[Path]:
    """Containers, the newest first."""
    found = [path for path in _files(folder) if _CONTAINER.fullmatch(path.name)]
    return sorted(found, key=lambda path: path.name, reverse=True)


def _segments(about: Mapping[str, Any]) -> tuple[Segment, ...]:
    """The segments that a container names."""
    try:
        found = tuple(Segment(*one) for one in about["segments"])
        _check(0, found)
    except (LookupError, TypeError, InvalidInput) as error:
        raise Damaged("its header makes no sense") from error
    return found


def _extents(folder: Path, segments: Sequence[Segment]) -> list[container.Extent]:
    """The segments' bytes, all there by number."""
    try:
        _must_have(folder, segments)
    except OSError as error:
        raise Damaged(str(error)) from error
    return [container.Extent(folder / one.name, 0, one.size, one.checksum) for one in segments]


def _must_have(folder: Path, segments: Sequence[Segment]) -> None:
    for one in segments:
        path = folder / one.name
        if not _is_file(path) or path.lstat().st_size != one.size:
            raise FileNotFoundError(f"segment {one.name} is missing or not of its size")


def _must_stand(path: Path, segments: Sequence[Segment]) -> None:
    """Check that no other process removed a container or its segments as soon as it was there."""
    if not _is_file(path):
        raise FileNotFoundError("another process has replaced or removed it")
    try:
        _must_have(path.parent, segments)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _settle(folder: Path, segments: Sequence[Segment]) -> None:
    """Have the segments on the disk, as private as the folder."""
    _must_have(folder, segments)
    for one in segments:
        path = folder / one.name
        path.chmod(_file_mode(folder))
        sync(path)


def _publish(folder: Path, name: str, write: Callable[[BinaryIO], None]) -> None:
    """Write a file that has its name only when it is whole and on the disk."""
    draft = folder / f".{name}{_DRAFT}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(_file_mode(folder))
        draft.replace(folder / name)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    sync(folder)


def _file_mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode) & 0o666


def _tidy(folder: Path, name: str) -> None:
    """Remove what the container ``name`` replaces.

    A newer one stays, as the newest of several that are saved at once must: each saver judges by
    the same order.
    """
    paths = _containers(folder)
    older = [path for path in paths if path.name < name]
    _drop(older, [path for path in paths if path.name >= name])
    _remove_strays(folder)


def _drop(containers: Sequence[Path], others: Sequence[Path]) -> None:
    """Remove containers, and then the segments that they name and no other does."""
    doomed = _named(containers) - _named(others)
    for path in [*containers, *(containers[0].with_name(name) for name in sorted(doomed))]:
        with suppress(OSError):
            path.unlink()


def _remove_strays(folder: Path) -> None:
    """Remove drafts and segments that nobody names and nobody will."""
    named = _named(_containers(folder))
    for path in _files(folder):
        is_ours = path.name.endswith(_DRAFT) or _SEGMENT.fullmatch(path.name)
        if is_ours and path.name not in named and _is_old(path):
            with suppress(OSError):
                path.unlink()


def _named(containers: Iterable[Path]) -> set[str]:
    """Names of the segments of containers; one that cannot be read has none."""
    found: set[str] = set()
    for path in containers:
        with suppress(OSError, Damaged), path.open("rb") as file:
            found |= {one.name for one in _segments(container.Header.read(file).about)}
    return found
