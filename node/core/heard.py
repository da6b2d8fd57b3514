"""What was heard of peers and is not on disk yet: shown at once, written once a minute for each peer at most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from node.core.mesh import Grant, Peer
from node.core.trust import with_address

_MINUTE_US: Final = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What is new of a peer: when it was last seen, where, and what it lets this node do there."""

    seen_us: int | None = None
    address: str = ""
    got: frozenset[Grant] | None = None

    def on(self, peer: Peer, limit: int) -> Peer:
        """The peer with the news, and at most `limit` addresses."""
        return replace(
            peer,
            seen_us=peer.seen_us if self.seen_us is None else self.seen_us,
            addresses=with_address(peer.addresses, self.address, limit) if self.address else peer.addresses,
            got=peer.got if self.got is None else self.got,
        )


_NOTHING: Final = News()


class Heard:
    """The news of all peers, by id."""

    def __init__(self) -> None:
        self._news: dict[str, News] = {}
        self._written_us: dict[str, int] = {}

    def add(self, peer_id: str, news: News) -> None:
        """Newer news: what they leave open stays as it was."""
        before = self.of(peer_id)
        self._news[peer_id] = News(
            seen_us=before.seen_us if news.seen_us is None else news.seen_us,
            address=news.address or before.address,
            got=before.got if news.got is None else news.got,
        )

    def of(self, peer_id: str) -> News:
        """What is new of a peer."""
        return self._news.get(peer_id, _NOTHING)

    def take(self, now_us: int, *, all_of_it: bool = False) -> dict[str, News]:
        """The news that are to be written now; they count as written."""
        due = {
            peer_id: news
            for peer_id, news in self._news.items()
            if all_of_it or not 0 <= now_us - self._written_us.get(peer_id, -_MINUTE_US) < _MINUTE_US
        }
        for peer_id in due:
            del self._news[peer_id]
            self._written_us[peer_id] = now_us
        return due

    def forget(self, peer_id: str) -> None:
        """The peer is gone, or its records have just been changed."""
        self._news.pop(peer_id, None)
        self._written_us.pop(peer_id, None)
