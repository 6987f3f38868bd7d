from __future__ import annotations

from dataclasses import asdict, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.errors import InvalidInput
from graphmem.experiments import variants
from graphmem.experiments.variants import DEFAULTS, PARTS, Variant, parse_setting, variants_of
from graphmem.settings import RecallSettings

NAMES = [constant.name for constant in fields(RecallSettings)]


def shown(value):
    if isinstance(value, tuple):
        return ",".join(f"{offset}:{weight}" for offset, weight in value)
    return str(value)


@pytest.mark.parametrize("name", NAMES)
def test_every_constant_can_be_set_by_its_name(name):
    default = getattr(RecallSettings(), name)
    assert parse_setting(f"{name}={shown(default)}") == (name, default)
    assert type(parse_setting(f"{name}={shown(default)}")[1]) is type(default)


@given(st.floats(0, 1), st.integers(1, 50))
def test_numbers_are_read_as_they_are_written(weight, count):
    assert parse_setting(f"bridge_weight={weight!r}") == ("bridge_weight", weight)
    assert parse_setting(f"seed_k={count}") == ("seed_k", count)


def test_a_window_is_offsets_and_weights():
    assert parse_setting("window=-1:0.5, 0:1,1:0.3") == (
        "window",
        ((-1, 0.5), (0, 1.0), (1, 0.3)),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("brigde_weight=1", "did you mean 'bridge_weight'"),
        ("xyzzy=1", "choose among hub_share"),
        ("bridge_weight", "name=value"),
        ("bridge_weight=", "name=value"),
        ("bridge_weight=much", "the default is 0.5"),
        ("seed_k=2.5", "the default is 3"),
        ("bridge_weight=-1", "0 or more"),
        ("damping=7", "0 to 0.99"),
        ("hub_share=7", "0 to 1"),
        ("window=0.5:1", "window"),
        ("window=1", "window"),
    ],
)
def test_a_wrong_setting_is_told_with_what_is_right(text, says):
    with pytest.raises(InvalidInput, match=says):
        parse_setting(text)


def test_without_wishes_there_are_the_defaults_alone():
    assert variants_of() == (DEFAULTS,)
    assert DEFAULTS.settings == RecallSettings()


def test_settings_make_one_variant_beside_the_defaults():
    defaults, changed = variants_of(["bridge_weight=0.7", "seed_k=5"])
    assert defaults == DEFAULTS
    assert changed.label == "bridge_weight=0.7 seed_k=5"
    assert asdict(changed.settings) == {
        **asdict(RecallSettings()),
        "bridge_weight": 0.7,
        "seed_k": 5,
    }


def test_a_sweep_has_a_variant_a_value_and_several_are_no_product():
    found = variants_of(sweeps=["bridge_weight=0.25,0.75", "window=0:1;-1:0.5,0:1"])
    assert [one.label for one in found] == [
        "",
        "bridge_weight=0.25",
        "bridge_weight=0.75",
        "window=0:1",
        "window=-1:0.5,0:1",
    ]
    assert found[-1].settings.window == ((-1, 0.5), (0, 1.0))
    assert found[-1].settings.bridge_weight == RecallSettings().bridge_weight


def test_what_is_set_as_it_is_already_changes_nothing():
    usual = f"damping={RecallSettings().damping}"
    found = variants_of([usual, "look_k=9"], ["damping=0.9"])
    assert [one.label for one in found] == ["", "look_k=9", "look_k=9, damping=0.9"]
    found = variants_of([usual], ["damping=0.9"])
    assert [(one.label, one.base) for one in found] == [("", ""), ("damping=0.9", "")]


def test_a_value_that_is_there_already_is_not_run_again():
    default = RecallSettings().seed_k
    found = variants_of(sweeps=[f"seed_k={default},{default + 1},{default + 1}"])
    assert [one.label for one in found] == ["", f"seed_k={default + 1}"]


def test_ablations_depart_from_what_was_set():
    found = variants_of(["walk_half=0.3"], ablated=["bridge", "window"])
    assert [(one.label, one.part, one.base) for one in found] == [
        ("", "", ""),
        ("walk_half=0.3", "", ""),
        ("walk_half=0.3, no bridge", "bridge", "walk_half=0.3"),
        ("walk_half=0.3, no window", "window", "walk_half=0.3"),
    ]
    assert found[2].settings.walk_half == found[3].settings.walk_half == 0.3
    assert (found[2].settings.bridge_weight, found[3].settings.window) == (0, ((0, 1.0),))


@pytest.mark.parametrize("part", PARTS)
def test_every_part_changes_the_settings(part):
    without = Variant("x", PARTS[part]).settings
    assert without != RecallSettings()


def test_every_part_is_explained():
    for part in PARTS:
        assert f"``{part}``" in (variants.__doc__ or ""), part


def test_all_parts():
    found = variants_of(ablated=["all"])
    assert [one.part for one in found] == ["", *PARTS]
    with pytest.raises(InvalidInput, match="did you mean 'bridge'"):
        variants_of(ablated=["bridges"])
    with pytest.raises(InvalidInput, match="choose among all, seeds"):
        variants_of(ablated=["xyzzy"])
