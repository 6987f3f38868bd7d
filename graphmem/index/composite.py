"""Things made of parts that can be folded, counted, and laid out as named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

from graphmem.index.keys import KeyTable
from graphmem.index.relations import Relation

__all__ = ["Composite"]

Arrays = Mapping[str, NDArray[Any]]
Foldable = KeyTable | Relation


class Composite:
    """Something whose whole state is in its parts: columns, tables, relations, other composites.

    Attributes:
        parts: names of the attributes that hold them.
    """

    parts: ClassVar[tuple[str, ...]] = ()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All state as arrays, each named ``part.array``; ``take`` takes them back."""
        return {
            f"{name.lstrip('_')}.{key}": array
            for name in self.parts
            for key, array in getattr(self, name).arrays().items()
        }

    def take(self, arrays: Arrays) -> None:
        """Take over the state that ``arrays`` gave."""
        for name in self.parts:
            prefix = f"{name.lstrip('_')}."
            own = {key[len(prefix) :]: one for key, one in arrays.items() if key.startswith(prefix)}
            part = getattr(self, name)
            if isinstance(part, Composite):
                part.take(own)
            else:
                setattr(self, name, type(part).of(own))

    def fold(self) -> None:
        """Merge what is new into the parts' sorted base."""
        for part in self.foldable():
            part.fold()

    def foldable(self) -> list[Foldable]:
        """All parts, and parts of parts, that have news to merge."""
        found: list[Foldable] = []
        for name in self.parts:
            part = getattr(self, name)
            if isinstance(part, Composite):
                found += part.foldable()
            elif isinstance(part, (KeyTable, Relation)) and part.delta_size:
                found.append(part)
        return found

    @property
    def delta_size(self) -> int:
        """Number of entries that are not merged yet."""
        return sum(part.delta_size for part in self.foldable())

    @property
    def nbytes(self) -> int:
        """Memory of the parts, in bytes, without what is mapped from files."""
        return sum(getattr(self, name).nbytes for name in self.parts)
