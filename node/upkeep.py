"""The timeline's upkeep put together: what deletes rows and texts, when, and the alarms that a person must see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from node import epochs
from node.config import TimelineConfig
from node.core.timeline import Clock as RowClock
from node.erasure import Erasures
from node.retention import Retention
from node.store import SqliteStore

_NO_RESERVE = (
    "There was no room on the disk to put space by, so a refusal may not be on record once the disk is full. Free some "
    "space, then run: helio down && helio up"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Retention, erasure and alarms over one store."""

    store: SqliteStore
    retention: Retention
    erasures: Erasures

    @classmethod
    def of(
        cls,
        store: SqliteStore,
        settings: TimelineConfig,
        *,
        node: str,
        row_clock: Callable[[], RowClock],
        sign: Callable[[], Awaitable[None]],
    ) -> Upkeep:
        """As the settings say."""
        return cls(
            store=store,
            retention=Retention(
                store=store, keep=settings, node=node, row_clock=row_clock, sign=sign, scrub=store.scrub
            ),
            erasures=Erasures(
                store=store, node=node, texts_days=settings.keep_texts_days, row_clock=row_clock, scrub=store.scrub
            ),
        )  # fmt: skip

    async def tend(self) -> None:
        """What is due each hour."""
        await self.retention.tend()
        await self.erasures.tend()

    async def alarms(self, now_us: int) -> tuple[str, ...]:
        """What is wrong with the timeline and what to do, the gravest first."""
        found: list[str] = []
        if (trouble := self.store.trouble) is not None:
            found.append(f"{trouble.words} ({trouble.refused} refused so far)")
        if told := await self.store.read(lambda reader: epochs.told(reader, now_us)):
            found.append(told)
        if self.store.damage is not None:
            found.append(
                f"Bytes of the database are damaged ({self.store.damage}). Keep a copy of the node's folder as it is, "
                "and see: helio timeline verify"
            )
        if not self.store.reserved and self.store.trouble is None:
            found.append(_NO_RESERVE)
        return tuple(found)
