"""Discovery on the local network by mDNS: announces this node, hears others. A hint where to dial, proof of nothing.

It listens to records itself: the library's browser remembers, and says again, every name that anybody ever sent.
docs/adr/0032-discovery.md has what else stands against the library's ways.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Final, Protocol

import zeroconf
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from node.config import MeshConfig
from node.core import lan
from node.core.lan import Interface
from node.core.limits import Limits
from node.core.mesh import DiscoveryState, Sighting
from node.core.sightings import PREFIX_CHARS, SightingTable, is_instance, text_of
from node.mdns import SERVICE, TTL_S, Ear, Question, Record, host, questions_about, sort, who_is_there
from node.platform import interfaces as system
from node.platform.local_network import multicast_problem, port_problem
from node.ports import Clock

_log = logging.getLogger(__name__)

WATCH_S: Final = 4.0
# A network that comes up changes several times; what stands still for this long is acted on.
SETTLE_S: Final = 0.5
_SETTLES: Final = 4
# A goodbye that is taken back at once was none: a node that starts again sends both.
_GOODBYE_S: Final = 0.02
_SLEPT_S: Final = 2.0
_FIRST_ASK_S: Final = 1.0
_LONGEST_ASK_S: Final = 1_200.0
_ASK_AT_ONCE: Final = 8
_KNOWN_ANSWERS: Final = 24
_SECOND_US: Final = 1_000_000
# What the library throws at whoever uses it while the network changes.
_TROUBLE: Final = (OSError, RuntimeError, zeroconf.Error)
_OFF: Final = "Discovery is switched off (discovery = false under [mesh] in config.toml). Peers are added by address."


class Listener(Protocol):
    """Whoever dials."""

    def heard(self, prefix: str, addresses: Sequence[str]) -> None:
        """The node whose fingerprint begins so says that it is there, best first; nowhere when it said goodbye."""
        ...


class Discovery:
    """Implements ports_mesh.Sightings. `port` None announces nothing. Nothing that happens to it ends the node."""

    def __init__(
        self,
        *,
        spki: str,
        port: int | None,
        version: str,
        name: str,
        config: MeshConfig,
        limits: Limits,
        clock: Clock,
        keep: Callable[[str], bool],
        listener: Listener,
        survey: Callable[[], Sequence[Interface]] = system.interfaces,
        watch_s: float = WATCH_S,
        engine: Callable[..., AsyncZeroconf] = AsyncZeroconf,
    ) -> None:
        self.instance = spki[:PREFIX_CHARS]
        self._port = port
        self._text = text_of(self.instance, version, name if config.announce_name else "")
        self._config = config
        self._limits = limits
        self._clock = clock
        self._listener = listener
        self._survey = survey
        self._watch_s = watch_s
        self._engine = engine
        self._table = SightingTable(own=self.instance, limits=limits, keep=keep)
        self._ear = Ear(self._take)
        self._zeroconf: AsyncZeroconf | None = None
        self._info: AsyncServiceInfo | None = None
        self._fit: tuple[Interface, ...] = ()
        self._why = "Discovery has not started." if config.discovery else _OFF
        self._ahead_s: float | None = None
        self._ask_due, self._ask_pause = 0.0, _FIRST_ASK_S
        self._leaving: dict[str, asyncio.TimerHandle] = {}
        self._awaited: dict[str, asyncio.Event] = {}

    def sightings(self) -> Mapping[str, Sighting]:
        """The nodes that announce themselves, by instance name, heard last first."""
        return self._table.shown()

    def state(self) -> DiscoveryState:
        """How discovery stands."""
        return DiscoveryState(
            on=self._zeroconf is not None,
            why=self._why,
            interfaces=tuple(one.name for one in self._fit) if self._zeroconf is not None else (),
            announced=self._info is not None,
            ignored=self._table.ignored,
        )

    def forget_address(self, instance: str, address: str) -> None:
        """Nobody answered at that "host:port": it is not offered until it is announced again."""
        self._table.forget(instance, address)

    async def refresh(self, instance: str, seconds: float = 2.0) -> Sighting | None:
        """What that node says of itself now; what is known of it when it does not answer in time."""
        if self._zeroconf is not None and is_instance(instance):
            answered = self._awaited.setdefault(instance, asyncio.Event())
            try:
                # Whom it answers directly may be another program on that port; to everybody it answers later.
                for unicast, share in ((True, 0.2), (False, 0.8)):
                    self._ask_for(instance, unicast=unicast)
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(seconds * share):
                            await answered.wait()
                            break
            finally:
                if self._awaited.get(instance) is answered:
                    del self._awaited[instance]
        return self._table.sighting(instance)

    async def run(self) -> None:
        """Works until cancelled, then says goodbye; returns at once when it is switched off."""
        if not self._config.discovery:
            return
        loop = asyncio.get_running_loop()
        look_due = loop.time()
        try:
            while True:
                if (now := loop.time()) >= look_due:
                    look_due = now + self._watch_s
                    await self._look()
                if self._zeroconf is not None and loop.time() >= self._ask_due:
                    self._ask_all(loop.time())
                next_due = min(look_due, self._ask_due if self._zeroconf is not None else math.inf)
                await asyncio.sleep(max(0.0, next_due - loop.time()))
        finally:
            await self._close()

    async def _look(self) -> None:
        """Follow the interfaces, come back from sleep, try again what failed, forget what has grown old."""
        woke = self._woke()
        try:
            found = self._fit_now()
            if self._zeroconf is not None and found != self._fit:
                found = await self._settled(found)
            if self._zeroconf is None:
                await self._open(found)
            elif found != self._fit or woke:
                await self._move(found, rejoin=woke)
            elif self._why and not self._problem(found):
                # The person has allowed it meanwhile: what was said until now nobody heard.
                await self._move(found, rejoin=True)
        except _TROUBLE as error:
            # An interface that goes away in the middle of it, most likely; the next look begins anew.
            await self._close()
            self._say(f"Discovery could not use the network ({error}). It tries again; peers can be added by address.")
        for instance in self._table.expire(self._clock.boottime_us() - TTL_S * _SECOND_US):
            self._listener.heard(instance, ())
        for instance in self._table.incomplete(_ASK_AT_ONCE) if self._zeroconf is not None else ():
            self._ask_for(instance, unicast=False)

    def _woke(self) -> bool:
        ahead = self._clock.boottime_us() / _SECOND_US - asyncio.get_running_loop().time()
        before, self._ahead_s = self._ahead_s, ahead
        return before is not None and ahead - before > _SLEPT_S

    def _fit_now(self) -> tuple[Interface, ...]:
        return lan.fit(self._survey(), self._config.interfaces)

    async def _settled(self, found: tuple[Interface, ...]) -> tuple[Interface, ...]:
        for _ in range(_SETTLES):
            await asyncio.sleep(SETTLE_S)
            before, found = found, self._fit_now()
            if found == before:
                break
        return found

    async def _open(self, found: tuple[Interface, ...]) -> None:
        if not found:
            self._say(lan.no_interface(self._survey(), self._config.interfaces))
            return
        if problem := port_problem():
            self._say(problem)
            return
        self._fit = found
        self._say(self._problem(found))
        self._table.loopback = any(one.loopback for one in found)
        self._zeroconf = self._engine(interfaces=_sources(found))
        await self._zeroconf.zeroconf.async_wait_for_start()
        self._zeroconf.zeroconf.async_add_listener(self._ear, None)
        self._ask_soon()
        self._ask_all(asyncio.get_running_loop().time())
        if self._port is not None:
            self._info = AsyncServiceInfo(
                SERVICE,
                f"{self.instance}.{SERVICE}",
                port=self._port,
                properties=self._text,
                server=host(self.instance),
                addresses=self._own_addresses(),
            )
            # The name is a fingerprint: nobody else has it, and asking the network first would take a second.
            await (await self._zeroconf.async_register_service(self._info, cooperating_responders=True))

    async def _move(self, found: tuple[Interface, ...], *, rejoin: bool) -> None:
        """Go over to other interfaces or addresses, or begin anew on the same ones after a sleep."""
        if self._zeroconf is None:
            return
        if not found:
            await self._close()
            self._say(lan.no_interface(self._survey(), self._config.interfaces))
            return
        self._fit = found
        self._table.loopback = any(one.loopback for one in found)
        self._say(self._problem(found))
        if self._info is not None:
            # Before the interfaces: a new one is told at once what is on record.
            self._info.addresses = self._own_addresses()
        if rejoin:
            await self._zeroconf.async_update_interfaces([])
        self._ask_soon()
        await self._zeroconf.async_update_interfaces(_sources(found))
        if self._info is not None:
            await (await self._zeroconf.async_update_service(self._info))

    async def _close(self) -> None:
        for handle in self._leaving.values():
            handle.cancel()
        self._leaving.clear()
        using, self._zeroconf, self._info, self._fit = self._zeroconf, None, None, ()
        if using is not None:
            # In this order: closing by itself would take the goodbyes along.
            for leave in (using.async_unregister_all_services, using.async_close):
                try:
                    await leave()
                except _TROUBLE as error:
                    _log.warning("discovery: it left the network without a goodbye: %s", error)

    def _own_addresses(self) -> list[bytes | str]:
        return [ip_address(one).packed for one in lan.announced(self._fit, self._limits.peer_addresses)]

    def _problem(self, found: Sequence[Interface]) -> str:
        if not self._config.interfaces and all(one.loopback for one in found):
            nowhere = lan.no_interface(self._survey(), self._config.interfaces)
            return f"{nowhere} Only nodes on this machine find each other."
        told = (multicast_problem(source, one.index) for one in found for source in lan.sources(one))
        return next((problem for problem in told if problem), "")

    def _say(self, why: str) -> None:
        if why and why != self._why:
            _log.warning("discovery: %s", why)
        self._why = why

    def _take(self, records: Iterable[Record], now_ms: float) -> None:
        """One packet's records, or some that have run out."""
        packet = sort(records, now_ms=now_ms, on=self._fit)
        self._table.ignored += packet.ignored
        now_us, wall_us = self._clock.boottime_us(), self._clock.wall_us()
        for instance in packet.left:
            self._say_goodbye_soon(instance)
        for heard in packet.heard:
            if heard.port is not None and (handle := self._leaving.pop(heard.instance, None)):
                handle.cancel()
            news = self._table.hear(heard, now_us=now_us, wall_us=wall_us)
            sighting = self._table.sighting(heard.instance) if news or heard.instance in self._awaited else None
            if sighting is not None and heard.addresses and (waiting := self._awaited.pop(heard.instance, None)):
                waiting.set()
            if news:
                self._listener.heard(heard.instance, sighting.addresses if sighting is not None else ())

    def _say_goodbye_soon(self, instance: str) -> None:
        if self._table.sighting(instance) is None:
            self._table.gone(instance)
        elif instance not in self._leaving:
            later = asyncio.get_running_loop().call_later
            self._leaving[instance] = later(_GOODBYE_S, self._left, instance)

    def _left(self, instance: str) -> None:
        self._leaving.pop(instance, None)
        if self._table.gone(instance):
            self._listener.heard(instance, ())

    def _ask_soon(self) -> None:
        self._ask_due, self._ask_pause = 0.0, _FIRST_ASK_S

    def _ask_all(self, now: float) -> None:
        """Who is there? More and more seldom (RFC 6762, 5.2); the first time to be answered directly."""
        first = self._ask_pause == _FIRST_ASK_S
        since_us = self._clock.wall_us() - TTL_S * _SECOND_US // 2
        known = [one.prefix for one in self._table.shown().values() if one.seen_us > since_us]
        self._send(who_is_there(unicast=first, known=() if first else known[:_KNOWN_ANSWERS]))
        self._ask_due, self._ask_pause = now + self._ask_pause, min(self._ask_pause * 2, _LONGEST_ASK_S)

    def _ask_for(self, instance: str, *, unicast: bool) -> None:
        self._send(questions_about(instance, unicast=unicast))

    def _send(self, out: Question) -> None:
        if self._zeroconf is not None:
            self._zeroconf.zeroconf.async_send(out)


def _sources(found: Iterable[Interface]) -> list[str]:
    return [lan.bare(source) for one in found for source in lan.sources(one)]
