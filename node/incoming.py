"""What comes from a mirrored node as this node's screen sees it, before anything of it is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from node.core.relay import Incoming, Item, texts_of
from node.core.screen_credentials import all_without_credentials
from node.core.verdict import Verdict
from node.ports import Screener


async def screened(
    screener: Screener, items: Sequence[Item], *, redacts: bool
) -> tuple[tuple[Item, ...], dict[int, Verdict]]:
    """The items without credentials, which are kept nowhere, and the verdicts on their messages by number.

    A message with a credential is withheld by its verdict, unless the node `redacts` it.
    """
    checked: list[Item] = []
    verdicts: dict[int, Verdict] = {}
    for item in items:
        told = item.what
        if isinstance(told, Incoming):
            told = _cleaned(told) if redacts else told
            verdicts[item.number] = await screener.screen(texts_of(told))
            told = _cleaned(told) if verdicts[item.number].credentials else told
        checked.append(replace(item, what=told))
    return tuple(checked), verdicts


def _cleaned(told: Incoming) -> Incoming:
    title, text = all_without_credentials((told.title, told.text))
    return replace(told, text=text, title=title)
