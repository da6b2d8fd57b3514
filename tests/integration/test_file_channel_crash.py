"""A server that is killed in the middle of a file, as a process of its own: no more than one interval is sent again."""

from __future__ import annotations

from pathlib import Path

from node.core.limits import Limits
from tests.integration.mesh import scenario
from tools.bench import file_node
from tools.bench.children import child
from tools.bench.files import Content, resent_after_kill


@scenario
async def test_what_is_sent_again_after_a_kill_is_one_interval_at_most(tmp_path: Path) -> None:
    file_node.new_keys(tmp_path)
    content = Content(tmp_path, mb=128)
    async with child("file_node", "client", tmp_path) as client:
        resent = await resent_after_kill(tmp_path, content, client)
    assert 0 < resent <= Limits().parcel_sync_bytes
    (received,) = (tmp_path / "server" / "files").iterdir()
    assert received.read_bytes() == content.path.read_bytes()
    assert [path.suffix for path in (tmp_path / "server" / "parcels").glob("*/*")] == [".kept"]
