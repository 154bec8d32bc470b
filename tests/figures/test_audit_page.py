"""The picture and the page of an audit."""

from dataclasses import replace

from shuffledp import KeyedRandomness, RandomizedResponse, audit
from shuffledp.figures.audit import page, picture

FOUND = audit(RandomizedResponse(size=2, epsilon0=1.0), view="local", trials=2000, randomness=KeyedRandomness.seeded(1))


def test_the_page_states_the_verdict_and_loads_nothing() -> None:
    text = page(FOUND.document())
    assert "consistent" in text
    assert "2,000" in text
    assert "default-src 'none'" in text
    assert 'src="data:image/svg+xml' in text


def test_the_page_of_a_service_says_what_an_exposed_user_would_show() -> None:
    assert "exposed user" not in page(FOUND.document())
    text = page(replace(FOUND, singled_out=1.2345).document())
    assert "exposed user" in text
    assert "1.2345" in text


def test_names_are_escaped() -> None:
    """The name of a program is somebody else's text."""
    text = page(replace(FOUND, name="<script>alert(1)</script>").document())
    assert "<script>" not in text


def test_every_verdict_and_direction_has_a_picture() -> None:
    for claimed, enough in ((0.1, 0.5), (1.0, 0.5), (1.0, 1.0)):
        found = replace(FOUND, claimed=replace(FOUND.claimed, epsilon=claimed), enough=enough)
        for turned in (False, True):
            event = replace(found.event, reversed=turned)
            assert picture(replace(found, event=event).document(), "png").startswith(b"\x89PNG")
    assert len(FOUND.plot().axes) == 2
