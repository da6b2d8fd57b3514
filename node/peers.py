"""Peers: whom this node trusts and for what. Answered from memory, changed on disk together with the timeline's row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from node.certificates import CertificateKeys
from node.changes import Changes
from node.core import rotation, trust
from node.core.canonical import JsonValue
from node.core.errors import ErrorCode, MeshError
from node.core.heard import Heard, News
from node.core.limits import Limits
from node.core.mesh import Grant, Paired, Peer
from node.core.policy import nickname_key
from node.core.refusal_gate import RefusalGate, Untold
from node.core.rotation import Step
from node.core.row_codes import ExtraKey, RowDecision, RowEngine, RowReason, SideField
from node.core.verdict import Decision, Field
from node.ledger import Ledger
from node.ledger_rows import Extra
from node.ports import Screener, Store, Tx

_MINUTE_US: Final = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What a commit came to: the peer as it is now (None: gone), instead of which one, and whether trust changed."""

    old: str
    peer: Peer | None
    trust: bool = True


class Peers:
    """Implements ports_mesh.PeerBook, ports_mesh.Trust and ports_mesh.Changes. To be loaded before it is asked.

    `own` are this node's certificates, the one in use last. `read_id` takes an id as it is shown to people.
    """

    def __init__(
        self,
        *,
        store: Store,
        screener: Screener,
        ledger: Ledger,
        limits: Limits,
        own: Sequence[str],
        read_id: Callable[[str], str] = trust.plain_id,
    ) -> None:
        self._store = store
        self._screener = screener
        self._ledger = ledger
        self._limits = limits
        self._keys = CertificateKeys()
        self._own = frozenset(self._keys.spki(certificate) for certificate in own)
        self._certificate = rotation.fingerprint(own[-1])
        self._read_id = read_id
        self._by_id: dict[str, Peer] = {}
        self._by_spki: dict[str, str] = {}
        self._listed: tuple[Peer, ...] | None = None
        self._heard = Heard()
        self._gate = RefusalGate(limits.refusal_rows_per_minute)
        self._changes = Changes()

    async def load(self) -> None:
        """Takes what is on disk into memory."""
        for peer in await self._store.read(lambda reader: reader.peers()):
            self._hold(peer)

    @property
    def generation(self) -> int:
        """How often trust has changed since the node started."""
        return self._changes.count

    async def next_change(self, seen: int) -> int:
        """The generation, once it is another than `seen`."""
        return await self._changes.after(seen)

    def peers(self) -> tuple[Peer, ...]:
        """All peers, by name."""
        if self._listed is None:
            self._listed = tuple(sorted(map(self._shown, self._by_id.values()), key=lambda p: nickname_key(p.name)))
        return self._listed

    def pinned(self, spki: str) -> Peer | None:
        """The peer whose public key has this SHA-256 (hex), or None for a stranger."""
        peer_id = self._by_spki.get(spki)
        return None if peer_id is None else self._shown(self._by_id[peer_id])

    def find(self, wanted: str) -> Peer:
        """The one peer of that name, @name, or beginning of an id; NOT_FOUND or AMBIGUOUS otherwise."""
        return trust.find_peer(wanted, self.peers(), read_id=self._read_id)

    async def add(self, paired: Paired) -> Peer:
        """The new peer, or the known one of that key brought up to date."""
        spki = self._keys.spki(paired.certificate)
        if spki in self._own:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "That is this node itself. Pair it with another one.")
        peer_id = trust.node_id_of(spki)
        # What an instruction is made of may still read like one.
        words = (paired.name, trust.proposed_name(paired.name, peer_id, ()))
        verdict = await self._screener.screen([Field(name="name", text=text) for text in words])
        proposal = "" if verdict.decision is Decision.WITHHOLD else paired.name

        def work(tx: Tx) -> _Change:
            known = tx.peer(peer_id)
            peers = tx.peers()
            if known is None and len(peers) >= self._limits.peers:
                raise MeshError(
                    ErrorCode.LIMIT,
                    f"This node has {len(peers)} peers; the limit is {self._limits.peers}. Unpair some with `helio "
                    "peers unpair`, or raise `peers` under [limits] in config.toml.",
                    {"limit": self._limits.peers},
                )
            addresses = known.addresses if known else ()
            for address in reversed(paired.addresses):
                addresses = trust.with_address(addresses, trust.parse_address(address), self._limits.peer_addresses)
            peer = Peer(
                id=peer_id,
                name=known.name if known else trust.proposed_name(proposal, peer_id, peers),
                spki=spki,
                certificate=paired.certificate,
                addresses=addresses,
                given=paired.given,
                got=paired.got,
                paired_us=self._ledger.now_us(),
                seen_us=known.seen_us if known else None,
                rotated_us=known.rotated_us if known else 0,
                holds=self._certificate,
            )
            tx.put_peer(peer)
            extra: Extra = {ExtraKey.GIVEN: _words(peer.given), ExtraKey.GOT: _words(peer.got)}
            reason = RowReason.AGAIN if known else RowReason.NEW
            self._ledger.peer_row(
                tx,
                peer,
                RowEngine.PEER,
                RowDecision.PAIRED,
                reason=reason,
                extra=extra,
                texts={SideField.PROPOSAL: paired.name},
            )
            return _Change(old=peer_id, peer=peer)

        return await self._commit(work)

    async def rename(self, wanted: str, name: str) -> Peer:
        """The peer under the name that the person gives it."""
        verdict = await self._screener.screen([Field(name="name", text=name)])
        if verdict.decision is Decision.WITHHOLD:
            raise MeshError(
                ErrorCode.WITHHELD,
                f"The name reads like an instruction to agents, who may see it ({verdict.snippet}); nothing was "
                "changed. Choose one that only says which machine it is.",
            )

        def change(tx: Tx, peer: Peer) -> Peer:
            changed = replace(peer, name=trust.check_name(name, tx.peers(), for_peer=peer.id))
            if changed != peer:
                before = {SideField.BEFORE: peer.name}
                self._ledger.peer_row(tx, changed, RowEngine.PEER, RowDecision.RENAMED, texts=before)
            return changed

        return await self._change(self.find(wanted).id, change)

    async def grant(self, wanted: str, grants: frozenset[Grant]) -> Peer:
        """The peer may do these here from now on."""
        return await self._change(self.find(wanted).id, lambda tx, peer: self._give(tx, peer, peer.given | grants))

    async def revoke(self, wanted: str, grants: frozenset[Grant]) -> Peer:
        """The peer may no longer do these here."""
        return await self._change(self.find(wanted).id, lambda tx, peer: self._give(tx, peer, peer.given - grants))

    def _give(self, tx: Tx, peer: Peer, given: frozenset[Grant]) -> Peer:
        self._grant_rows(tx, peer, peer.given, given, reason=RowReason.HERE)
        return replace(peer, given=given)

    def _grant_rows(
        self, tx: Tx, peer: Peer, before: frozenset[Grant], after: frozenset[Grant], *, reason: RowReason
    ) -> None:
        for decision, grants in ((RowDecision.GIVEN, after - before), (RowDecision.TAKEN, before - after)):
            if grants:
                extra: Extra = {ExtraKey.GRANTS: _words(grants)}
                self._ledger.peer_row(tx, peer, RowEngine.GRANT, decision, reason=reason, extra=extra)

    async def unpair(self, wanted: str) -> Peer:
        """Trust in the peer ends; what it was is given back."""
        gone = self.find(wanted)

        def work(tx: Tx) -> _Change:
            peer = _there(tx.peer(gone.id))
            tx.remove_peer(peer.id)
            self._ledger.peer_row(tx, peer, RowEngine.PEER, RowDecision.UNPAIRED)
            if tx.remove_mirror(peer.id):
                self._ledger.peer_row(tx, peer, RowEngine.MIRROR, RowDecision.REMOVED, reason=RowReason.UNPAIRED)
            return _Change(old=peer.id, peer=None)

        await self._store.write(work, self._apply)
        return gone

    async def add_address(self, wanted: str, address: str) -> Peer:
        """The peer is dialled there first from now on."""
        literal = trust.parse_address(address)

        def change(tx: Tx, peer: Peer) -> Peer:
            addresses = trust.with_address(peer.addresses, literal, self._limits.peer_addresses)
            if addresses != peer.addresses:
                added = {SideField.ADDRESS: literal}
                self._ledger.peer_row(tx, peer, RowEngine.PEER, RowDecision.ADDRESS_ADDED, texts=added)
            return replace(peer, addresses=addresses)

        return await self._change(self.find(wanted).id, change)

    async def seen(self, peer_id: str, address: str) -> None:
        """The peer proved itself there; see ports_mesh.PeerBook."""
        if peer_id in self._by_id:
            self._heard.add(peer_id, News(seen_us=self._ledger.now_us(), address=_literal(address)))
            await self._write_heard()

    async def granted(self, peer_id: str, got: frozenset[Grant]) -> None:
        """The peer said what this node may do there; one that changes its mind all the time gets a row a minute."""
        peer = self._by_id.get(peer_id)
        if peer is not None and self._shown(peer).got != got:
            self._heard.add(peer_id, News(got=got))
            await self._write_heard()

    async def _write_heard(self, *, all_of_it: bool = False) -> None:
        self._listed = None
        heard = self._heard.take(self._ledger.now_us(), all_of_it=all_of_it)
        if heard:
            await self._store.write(partial(self._note_heard, heard=heard), self._apply_heard)

    def _note_heard(self, tx: Tx, *, heard: Mapping[str, News]) -> list[Peer]:
        changed: list[Peer] = []
        for peer_id, news in heard.items():
            peer = tx.peer(peer_id)
            if peer is not None:
                changed.append(news.on(peer, self._limits.peer_addresses))
                tx.put_peer(changed[-1])
                self._grant_rows(tx, peer, peer.got, changed[-1].got, reason=RowReason.THERE)
        return changed

    def _apply_heard(self, changed: list[Peer]) -> None:
        for peer in changed:
            self._hold(peer)

    async def rekeyed(self, peer_id: str, certificate: str, statement: bytes, signature: bytes) -> None:
        """The peer is known by its new certificate from now on; its old one, and its old key, are a stranger's."""
        step = Step(certificate=certificate, statement=statement, signature=signature)
        try:
            await self._store.write(lambda tx: self._hand_over(tx, peer_id, step), self._apply)
        except MeshError as refusal:
            if refusal.code in {ErrorCode.TAMPERED, ErrorCode.INVALID_ARGUMENT} and peer_id in self._by_id:
                await self.refused(RowReason.BAD_ROTATION, spki=self._by_id[peer_id].spki, address="")
            raise

    def _hand_over(self, tx: Tx, peer_id: str, step: Step) -> _Change:
        peer = _there(tx.peer(peer_id))
        claim = rotation.check(step, holder=peer.certificate, after_us=peer.rotated_us, keys=self._keys)
        if claim.new in self._own or (not claim.renewal and tx.peer_by_spki(claim.new) is not None):
            raise MeshError(
                ErrorCode.TAMPERED, "The new key is that of another node which is known here; nothing was changed."
            )
        changed = replace(
            peer,
            id=trust.node_id_of(claim.new),
            spki=claim.new,
            certificate=step.certificate,
            rotated_us=claim.at_us,
            issued=peer.issued if claim.renewal else "",
        )
        if not claim.renewal:
            tx.remove_peer(peer.id)
            tx.rename_node(peer.id, changed.id)
        tx.put_peer(changed)
        decision = RowDecision.RENEWED if claim.renewal else RowDecision.REKEYED
        self._ledger.key_row(tx, peer.id, changed.id, RowEngine.PEER, decision, peer.name)
        return _Change(old=peer.id, peer=changed)

    async def own_key_made(self, old: str, new: str) -> None:
        """A row for a key of this node's own that counts when it starts again."""
        engine, decision = RowEngine.KEY, RowDecision.ADDED
        await self._store.write(lambda tx: self._ledger.key_row(tx, old, new, engine, decision, ""))

    async def told(self, peer_id: str, certificate: str) -> Peer:
        """The peer has taken this certificate (PEM) of our own as the newest, and takes no older one any more."""

        def change(tx: Tx, peer: Peer) -> Peer:
            issued = peer.issued if self._keys.same(certificate, peer.issued) else ""
            changed = replace(peer, holds=rotation.fingerprint(certificate), issued=issued)
            if changed != peer:
                self._ledger.peer_row(tx, peer, RowEngine.KEY, RowDecision.TOLD)
            return changed

        return await self._change(peer_id, change)

    async def issued(self, peer_id: str, certificate: str) -> None:
        """The peer made this certificate (PEM) for a key of our own; empty: none that it takes. No change of trust."""

        def work(tx: Tx) -> _Change:
            changed = replace(_there(tx.peer(peer_id)), issued=certificate)
            tx.put_peer(changed)
            return _Change(old=peer_id, peer=changed, trust=False)

        await self._commit(work)

    async def refused(self, reason: RowReason, *, spki: str, address: str) -> None:
        """A row for a call that was turned away; `reason` is a code. Limited in rate, and counted beyond that."""
        if self._gate.take(reason, self._ledger.now_us()):
            node = trust.node_id_of(spki) if spki else ""
            await self._store.write(lambda tx: self._ledger.turned_away(tx, reason, node=node, address=address))

    async def tick(self) -> None:
        """Writes what has waited: what was heard of peers, and how much was refused without a row once it is calm."""
        await self._write_heard()
        if self._gate.due(self._ledger.now_us()):
            await self._tell(self._gate.untold())

    async def close(self) -> None:
        """Writes all of that; the node stops."""
        await self._write_heard(all_of_it=True)
        untold = self._gate.untold()
        if untold.count:
            await self._tell(untold)

    async def _tell(self, untold: Untold) -> None:
        reasons = dict[str, JsonValue](untold.reasons)
        extra: Extra = {ExtraKey.COUNT: untold.count, ExtraKey.REASONS: reasons}
        await self._store.write(lambda tx: self._ledger.turned_away(tx, RowReason.MORE, extra=extra))

    async def _change(self, peer_id: str, change: Callable[[Tx, Peer], Peer]) -> Peer:
        """Changes a peer as it is by then: it may have been unpaired since it was found."""

        def work(tx: Tx) -> _Change:
            peer = _there(tx.peer(peer_id))
            changed = change(tx, peer)
            if changed != peer:
                tx.put_peer(changed)
            return _Change(old=peer_id, peer=changed, trust=changed != peer)

        return await self._commit(work)

    async def _commit(self, work: Callable[[Tx], _Change]) -> Peer:
        done = await self._store.write(work, self._apply)
        return _there(done.peer)

    def _apply(self, change: _Change) -> None:
        """Memory follows the disk, in the order of the commits; then whoever holds something open is told."""
        before = self._by_id.pop(change.old, None)
        if before is not None:
            del self._by_spki[before.spki]
        if change.peer is None or change.peer.id != change.old:
            self._heard.forget(change.old)
        if change.peer is not None:
            self._hold(change.peer)
        self._listed = None
        if change.trust:
            self._changes.happened()

    def _hold(self, peer: Peer) -> None:
        self._by_id[peer.id] = peer
        self._by_spki[peer.spki] = peer.id
        self._listed = None

    def _shown(self, peer: Peer) -> Peer:
        return self._heard.of(peer.id).on(peer, self._limits.peer_addresses)


def _there(peer: Peer | None) -> Peer:
    if peer is None:
        raise MeshError(ErrorCode.NOT_FOUND, "That peer has been unpaired meanwhile; `helio peers` shows who is left.")
    return peer


def _words(grants: frozenset[Grant]) -> list[JsonValue]:
    return [grant.value for grant in sorted(grants)]


def _literal(address: str) -> str:
    """The address in its one form; nothing when it is none that can be dialled."""
    try:
        return trust.parse_address(address)
    except MeshError:
        return ""
