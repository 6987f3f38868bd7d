"""Recall with other constants: one set of them, a sweep over one, or a part switched off.

Settings are written as on the command line: ``bridge_weight=0.7``, ``seed_k=5``,
``window=-1:0.5,0:1,1:0.3`` (offset:weight). A sweep lists values after the sign, with commas
(``damping=0.3,0.5,0.7``), or with semicolons where a value itself has commas.

The parts of recall, and what is left without one:

- ``seeds``: no seed: no walk, no bridge; h ranks, which still sees facts.
- ``walk``: mass stays where it starts, so that each passage has only its own.
- ``bridge``: what the best passages leave open is not looked for.
- ``own_sense``: the sense of a message alone does not lift it among its neighbours.
- ``later``: a later message does not come before an earlier one that says the like.
- ``fact_prior``: seed facts are chosen by their own cosine, whatever their passage.
- ``near_seeds``: no more seed facts than ``seed_k``, however many fit alike.
- ``names``: the walk does not start from entities that the question names.
- ``passage_seeds``: nor from the passages with the highest h.
- ``synonyms``: entities of like names are not joined, but for those whose vectors are the same.
- ``about``: what a passage is about is linked to it as anything that it mentions.
- ``hubs``: a speaker of many messages is a name like others.
- ``window``: a message is understood without its neighbours.
- ``meaning``: no cosine of passages in h: the question's words count.
- ``facts_in_h``: no cosine of facts in h.
- ``topic``, ``speaker``, ``date``, ``personal``, ``time``: no bonus in h for a document's topic,
  for whoever is named, for a date near the one named, for the first person, for words of time.
- ``documents``, ``question``: documents are not held back where a speaker is named, nor messages
  that ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any

from graphmem.errors import InvalidInput
from graphmem.settings import RecallSettings

__all__ = ["DEFAULTS", "PARTS", "Variant", "parse_setting", "variants_of"]

_DEFAULTS = {constant.name: constant.default for constant in fields(RecallSettings)}

PARTS: Mapping[str, Mapping[str, Any]] = {
    # No seed: no walk, no bridge; h ranks, which still sees facts.
    "seeds": {"seed_k": 0, "seed_most": 0, "name_weight": 0.0, "passage_weight": 0.0},
    "walk": {"damping": 0.0},
    "bridge": {"bridge_weight": 0.0},
    "own_sense": {"own_weight": 0.0},
    "later": {"later_among": 0},
    # Where the walk starts.
    "fact_prior": {"fact_prior": 0.0},
    "near_seeds": {"seed_most": 0},
    "names": {"name_weight": 0.0},
    "passage_seeds": {"passage_weight": 0.0},
    # What the graph knows.
    "synonyms": {"synonym_cosine": 1.0},
    "about": {"about_weight": 1.0, "about_bonus": 0.0},
    "hubs": {"hub_share": 1.0},
    # What h adds up.
    "window": {"window": ((0, 1.0),)},
    "meaning": {"meaning_weight": 0.0},
    "facts_in_h": {"fact_weight": 0.0},
    "topic": {"topic_weight": 0.0},
    "speaker": {"speaker_weight": 0.0},
    "documents": {"document_weight": 0.0},
    "date": {"date_weight": 0.0},
    "personal": {"personal_weight": 0.0},
    "question": {"question_weight": 0.0},
    "time": {"time_weight": 0.0},
}
"""The parts of recall, each with the settings that switch it off; the module says what is left.

The words in h and the walk's floor (z is at least ``h ** passage_power``) have no switch of their
own. ``hubs`` leaves a speaker a hub who says everything that is said.
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """Recall with some constants changed.

    Attributes:
        label: what reports call it; ``""`` is the product's defaults.
        changes: the settings that differ from the defaults.
        part: the part of recall that it lacks, for an ablation.
        base: the label of the variant that a sweep or an ablation departs from.
    """

    label: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    part: str = ""
    base: str = ""

    @property
    def settings(self) -> RecallSettings:
        """The constants.

        Raises:
            InvalidInput: a value that the setting does not take.
        """
        return replace(RecallSettings(), **self.changes)

    def altered(self, label: str, changes: Mapping[str, Any], *, part: str = "") -> Variant:
        """A variant that departs from this one."""
        name = f"{self.label}, {label}" if self.label else label
        return Variant(name, {**self.changes, **changes}, part, self.label)


DEFAULTS = Variant()
"""The product's defaults."""


def variants_of(
    sets: Sequence[str] = (), sweeps: Sequence[str] = (), ablated: Sequence[str] = ()
) -> tuple[Variant, ...]:
    """The variants that the command line asks for, the product's defaults first.

    Args:
        sets: settings of one variant together; sweeps and ablations depart from it.
        sweeps: each one setting and its values: a variant for each value.
        ablated: parts of recall to switch off, one at a time; ``all`` stands for all.

    Returns:
        Each once: a value that a variant before has already is not run again.

    Raises:
        InvalidInput: an unknown setting or part, or a wrong value; the message names the nearest.
    """
    base = DEFAULTS
    asked = dict(map(parse_setting, sets))
    changes = {name: value for name, value in asked.items() if value != _DEFAULTS[name]}
    if changes:
        base = DEFAULTS.altered(" ".join(f"{n}={_shown(v)}" for n, v in changes.items()), changes)
    found = [DEFAULTS, base]
    for sweep in sweeps:
        name, values = _named(sweep)
        for text in _listed(name, values):
            value = _value(name, text)
            found.append(base.altered(f"{name}={_shown(value)}", {name: value}))
    for part in _parts(ablated):
        found.append(base.altered(f"no {part}", PARTS[part], part=part))
    distinct: dict[RecallSettings, Variant] = {}
    for variant in found:
        distinct.setdefault(variant.settings, variant)
    return tuple(distinct.values())


def parse_setting(text: str) -> tuple[str, Any]:
    """Name and value of a setting written ``name=value``.

    Raises:
        InvalidInput: no such setting, or a value it does not take.
    """
    name, value = _named(text)
    return name, _value(name, value)


def _named(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    name = name.strip()
    if not sign or not value.strip():
        raise InvalidInput(f"a setting is written name=value, not {text!r}")
    if name not in _DEFAULTS:
        raise InvalidInput(f"there is no setting {name!r}{_nearest(name, _DEFAULTS)}")
    return name, value.strip()


def _nearest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f": did you mean {near[0]!r}?" if near else f": choose among {', '.join(known)}"


def _listed(name: str, values: str) -> list[str]:
    mark = ";" if isinstance(_DEFAULTS[name], tuple) else ","
    return [value.strip() for value in values.split(mark) if value.strip()]


def _value(name: str, text: str) -> Any:
    default = _DEFAULTS[name]
    try:
        value = _read(default, text)
        replace(RecallSettings(), **{name: value})
    except InvalidInput:
        raise
    except (ValueError, KeyError) as error:
        usual = _shown(default)
        raise InvalidInput(f"{name} cannot be {text!r}: the default is {usual}") from error
    return value


def _read(default: Any, text: str) -> Any:
    """The text as a value of the default's type."""
    if isinstance(default, tuple):
        pairs = (item.split(":") for item in text.split(","))
        return tuple((int(offset), float(weight)) for offset, weight in pairs)
    if isinstance(default, bool):
        return {"true": True, "false": False}[text.casefold()]
    return type(default)(text)


def _shown(value: Any) -> str:
    """The value as it is written on the command line."""
    if isinstance(value, tuple):
        return ",".join(f"{offset}:{weight:g}" for offset, weight in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parts(names: Sequence[str]) -> list[str]:
    for name in names:
        if name != "all" and name not in PARTS:
            raise InvalidInput(f"recall has no part {name!r}{_nearest(name, ['all', *PARTS])}")
    return list(PARTS) if "all" in names else list(dict.fromkeys(names))
