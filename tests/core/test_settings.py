"""Settings are made from names and text, and a wrong one is named."""

import pytest
from pydantic import Field

from trackfish3d.core import settings as core
from trackfish3d.core.errors import InputError
from trackfish3d.core.settings import Settings, make_settings, setting_lines, setting_values


class Link(Settings):
    reach: float = Field(2.0, gt=0, description="how far")


class Tracker(Settings):
    gate: float | None = Field(None, description="a length")
    device: str = "auto"
    link: Link = Link()


def test_text_becomes_values_and_dots_lead_into_parts():
    made = make_settings(Tracker, {"gate": "1.5", "link.reach": "3"}, "tracker")
    assert made == Tracker(gate=1.5, link=Link(reach=3))
    assert setting_values(made) == {"gate": 1.5, "device": "auto", "link.reach": 3}
    assert core.changed_values(made) == {"gate": 1.5, "link.reach": 3}


@pytest.mark.parametrize("word", ["auto", "none"])
def test_a_value_that_may_be_open_is_left_open_by_a_word_and_text_stays_text(word):
    made = make_settings(Tracker, {"gate": word, "device": word}, "tracker")
    assert (made.gate, made.device) == (None, word)
    assert setting_lines(made) == ["gate = auto  a length", f"device = {word}  ", "link.reach = 2.0  how far"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gat": 1}, "tracker has no setting 'gat'; it has gate, device, link.reach"),
        ({"link.far": 1}, "tracker has no setting 'link.far'; it has gate, device, link.reach"),
        ({"link.reach": "0"}, "tracker: link.reach: Input should be greater than 0"),
        ({"link": "0", "gate": "x"}, "tracker: gate: Input should be a valid number"),
    ],
)
def test_what_is_refused_is_named(values, message):
    with pytest.raises(InputError) as raised:
        make_settings(Tracker, values, "tracker")
    assert str(raised.value).startswith(message)


def test_a_part_given_whole_and_by_name_is_one():
    made = make_settings(Tracker, {"link": {"reach": 3}, "link.reach": 4}, "tracker")
    assert made.link.reach == 4


def test_pairs_need_a_name_and_an_equals_sign():
    assert core.parse_settings([" a = b=c "]) == {"a": "b=c"}
    for wrong in ("a", "=b", " =b"):
        with pytest.raises(InputError, match="write key=value"):
            core.parse_settings([wrong])
