"""The local API's calls that delete rows and erase texts, over twins of what does it."""

from __future__ import annotations

from pathlib import Path

from node.core.retention import Doubt
from node.core.views_retention import EraseView, PruneView
from node.ports_timeline import Erasure
from tests.local_twins import Node, played


@played
async def test_ranges_come_as_they_are_deleted_and_always_by_the_person(tmp_path: Path) -> None:
    node = Node(tmp_path)
    gone = PruneView(log="local/x/1", first=256, next=768, first_us=5, last_us=2**53, why="age", deleted=512)
    stays = PruneView(
        log="local/x/1", first=256, next=768, first_us=5, last_us=2**53, why="age", deleted=0, doubt=Doubt.STEPPED
    )
    async with node.up() as client:
        assert [view async for view in client.prune_timeline(dry_run=True)] == [gone, stays]
        assert [view async for view in client.prune_timeline(dry_run=False)] == [gone, stays]
    assert node.pruning.asked == [(True, True), (False, True)]


@played
async def test_an_erasure_arrives_whole_and_comes_back_step_by_step(tmp_path: Path) -> None:
    node = Node(tmp_path)
    wish = Erasure(log="local/x/1", seqs=(3, 2**40), field="title", exchange="e", session="s", before_us=2**53)
    async with node.up() as client:
        counted = [view async for view in client.erase_timeline(wish, dry_run=True)]
        assert counted[-1] == EraseView(seq=9, size=9, found=4, erased=0)
        done = [view async for view in client.erase_timeline(wish, dry_run=False)]
        assert done == [EraseView(seq=2, size=9, found=1, erased=0), EraseView(seq=9, size=9, found=4, erased=4)]
    assert node.erasing.asked == [(wish, True), (wish, False)]
