"""A message with a credential in it: stopped or cleaned, and its value on no page of the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.core.commands import Deliver, Request
from node.core.model import Author, MessageKind, Status
from node.core.relay import Incoming, Item
from node.incoming import screened
from tests.integration.mesh import running, scenario, texts
from tests.rule_screener import RuleScreener

# As such a token looks; made up, and put together so that no scanner takes this file for a leak.
TOKEN = "ghp_" + "R7kQ2mZp9LxW4tVn8YbC3sHd6JfG1aEu0oXi"


def stored(folder: Path) -> bytes:
    """All that the node has written."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("node.db*")))


@pytest.mark.parametrize("where", ["title", "text"])
@scenario
async def test_a_request_with_a_token_is_withheld_and_the_token_kept_nowhere(tmp_path: Path, *, where: str) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        parts = {"title": "Deploy", "text": "Push the tag."} | {where: f"use {TOKEN} for it"}
        receipt = await alice.send(Request(to="@bob", **parts))
        assert receipt.message.withheld
        assert "credential" in receipt.message.advice
        assert receipt.message.snippet == "[redacted:github]"
        assert receipt.exchange.status is Status.FAILED
        assert texts(await bob.read()) == []
        (row,) = await mesh.rows(decision="withheld")
        scan = row["scan"]
        assert isinstance(scan, dict)
        assert (row["reason"], scan["rules"]) == ("credential", ["credential.github"])
        await mesh.tick()
        kept = stored(tmp_path)
        assert b"Deploy" in kept or b"Push the tag" in kept
        assert TOKEN.encode() not in kept


@pytest.mark.parametrize("redacts", [True, False])
@scenario
async def test_a_key_that_begins_in_the_title_stays_nowhere(tmp_path: Path, *, redacts: bool) -> None:
    body = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ" * 3
    async with running(tmp_path, redacts=redacts) as mesh:
        alice = await mesh.seat("alice")
        await mesh.seat("bob")
        await alice.send(
            Request(to="@bob", title="-----BEGIN OPENSSH PRIVATE KEY-----", text=f"{body}\nfor the deploy")
        )
        assert body.encode() not in stored(tmp_path)


@scenario
async def test_a_token_is_not_kept_for_what_else_was_found(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice = await mesh.seat("alice")
        await mesh.seat("bob")
        hidden = " x".join(chr(0xE0041) * 3 for _ in range(90))
        receipt = await alice.send(Request(to="@bob", text=f"{hidden} and {TOKEN}"))
        assert receipt.message.withheld
        assert TOKEN.encode() not in stored(tmp_path)


@scenario
async def test_a_node_that_redacts_lets_the_rest_through(tmp_path: Path) -> None:
    async with running(tmp_path, redacts=True) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        receipt = await alice.send(Request(to="@bob", text=f"Push the tag with {TOKEN}, please."))
        assert not receipt.message.withheld
        assert texts(await bob.read()) == ["Push the tag with [redacted:github], please."]
        await bob.send(Deliver(exchange=None, text=f"Done; {TOKEN} can go now."))
        assert texts(await alice.read()) == ["Done; [redacted:github] can go now."]
        assert TOKEN.encode() not in stored(tmp_path)


@pytest.mark.parametrize("redacts", [True, False])
@scenario
async def test_what_a_mirrored_node_says_is_cleaned_before_it_is_kept(*, redacts: bool) -> None:
    told = Incoming(
        message="a" * 16, exchange="b" * 16, kind=MessageKind.DELIVER, author=Author.SESSION, title=f"of {TOKEN}",
        text=f"It was {TOKEN}.", status=Status.DELIVERED,
    )  # fmt: skip
    (item,), verdicts = await screened(RuleScreener(), (Item(number=7, what=told),), redacts=redacts)
    assert isinstance(item.what, Incoming)
    assert (item.what.title, item.what.text) == ("of [redacted:github]", "It was [redacted:github].")
    assert verdicts[7].credentials is not redacts
    assert verdicts[7].stops is not redacts
