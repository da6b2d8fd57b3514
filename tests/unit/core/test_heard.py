"""What was heard of peers: joined, shown, and handed out to be written once a minute."""

from __future__ import annotations

from node.core.heard import Heard, News
from node.core.mesh import Grant
from tests.unit.core.test_trust import peer

MINUTE_US = 60_000_000
ONE, TWO = frozenset({Grant.REQUEST}), frozenset({Grant.MIRROR_PANEL})


def test_news_are_joined_and_shown() -> None:
    heard, studio = Heard(), peer("studio")
    assert heard.of("p").on(studio, 8) == studio
    heard.add("p", News(seen_us=1, address="a"))
    heard.add("p", News(got=ONE))
    heard.add("p", News(seen_us=2, got=frozenset()))
    shown = heard.of("p").on(studio, 8)
    assert (shown.seen_us, shown.addresses, shown.got) == (2, ("a",), frozenset())
    assert heard.of("q") == News()


def test_they_are_written_once_a_minute_for_each_peer() -> None:
    heard = Heard()
    heard.add("p", News(seen_us=1))
    assert heard.take(0) == {"p": News(seen_us=1)}
    heard.add("p", News(seen_us=2))
    heard.add("q", News(seen_us=3))
    assert heard.take(1) == {"q": News(seen_us=3)}
    assert heard.take(MINUTE_US - 1) == {}
    assert heard.take(MINUTE_US) == {"p": News(seen_us=2)}
    assert heard.take(9 * MINUTE_US) == {}


def test_a_clock_that_goes_back_and_an_end_write_at_once() -> None:
    heard = Heard()
    for now_us, all_of_it in ((9 * MINUTE_US, False), (MINUTE_US, False), (MINUTE_US + 1, True)):
        heard.add("p", News(got=TWO))
        assert heard.take(now_us, all_of_it=all_of_it) == {"p": News(got=TWO)}


def test_what_is_forgotten_is_not_written() -> None:
    heard = Heard()
    heard.add("p", News(seen_us=1))
    heard.forget("p")
    heard.forget("never heard of")
    assert heard.take(9 * MINUTE_US) == {}
