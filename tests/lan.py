"""A local network in the laboratory: hosts that are network namespaces of Linux, joined by a switch which is another.

Each namespace is held by a process that ends with this one, however this one ends; nothing has a name that a second
laboratory could take. Programs in a host read their commands from stdin and end with it.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CARD = "eth0"
MOST_HOSTS = 5
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only on Linux: hosts are network namespaces")


@dataclass(slots=True, kw_only=True)
class Program:
    """A program in a host: a command in, a line of JSON out, whenever it has something to say."""

    process: subprocess.Popen[str]
    said: list[dict[str, object]] = field(default_factory=list)
    _fresh: queue.SimpleQueue[dict[str, object] | None] = field(default_factory=queue.SimpleQueue)

    def tell(self, *command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(command) + "\n")
        self.process.stdin.flush()

    def hear(
        self, wanted: Callable[[dict[str, object]], bool], what: str, *, seconds: float = 20.0
    ) -> dict[str, object]:
        """The first thing that it says from now on, or has said and nobody took yet, which is `wanted`."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._fresh.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"never said: {what}; but: {self.said[-5:]}") from None
            if line is None:
                raise RuntimeError(f"it ended without saying: {what}; but: {self.said[-5:]}")
            self.said.append(line)
            if wanted(line):
                return line

    def listen(self) -> None:
        """Takes what it says; in a thread."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._fresh.put(json.loads(line))
        self._fresh.put(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host: a card, named as on any machine, with a cable to the switch."""

    number: int
    holder: int
    switch: int
    stack: ExitStack
    programs: list[Program] = field(default_factory=list)

    @property
    def within(self) -> Sequence[str]:
        """The words that start a program here."""
        return _enter(self.holder)

    def ip(self, *arguments: str) -> None:
        """Run `ip` here."""
        _inside(self.holder, "ip", *arguments)

    def cut(self) -> None:
        """Pull the cable out."""
        _inside(self.switch, "ip", "link", "set", f"port{self.number}", "down")

    def mend(self) -> None:
        """Put it back in."""
        _inside(self.switch, "ip", "link", "set", f"port{self.number}", "up")

    def readdress(self, old: str, new: str) -> None:
        """Another address, as after a new lease."""
        # In this order: a second address of a network goes with the first.
        self.ip("addr", "del", old, "dev", CARD)
        self.ip("addr", "add", new, "dev", CARD)

    def start(self, script: Path, *arguments: str) -> Program:
        """Start a Python program here; it ends with the laboratory."""
        process = subprocess.Popen(
            [*_enter(self.holder), sys.executable, os.fspath(script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.fspath(ROOT)},
        )
        program = Program(process=process)
        ear = threading.Thread(target=program.listen, daemon=True)
        ear.start()
        self.stack.callback(_end, process, ear)
        self.programs.append(program)
        return program

    def ask_to_end(self) -> None:
        """Tell all its programs that nothing more comes, so that they end beside each other."""
        for program in self.programs:
            if program.process.stdin is not None:
                program.process.stdin.close()


@contextmanager
def lan(hosts: int, *, addresses: Callable[[int], Sequence[str]]) -> Iterator[tuple[Host, ...]]:
    """A network of that many hosts; `addresses` are those of a host's card by its number, from 1."""
    assert hosts <= MOST_HOSTS
    if os.geteuid() != 0:
        raise RuntimeError("A laboratory of hosts takes root: run these tests with sudo, as CI does, or deselect them.")
    with ExitStack() as stack:
        switch = _namespace(stack)
        _inside(switch, "ip", "link", "add", "switch", "type", "bridge", "mcast_snooping", "0")
        _inside(switch, "ip", "link", "set", "switch", "up")
        made = [
            Host(number=number, holder=_namespace(stack), switch=switch, stack=stack) for number in range(1, hosts + 1)
        ]
        for host in made:
            _plug_in(host, addresses(host.number))
        try:
            yield tuple(made)
        finally:
            for host in made:
                host.ask_to_end()


def _plug_in(host: Host, addresses: Sequence[str]) -> None:
    port = f"port{host.number}"
    _run(
        "ip",
        "link",
        "add",
        port,
        "netns",
        str(host.switch),
        "type",
        "veth",
        "peer",
        "name",
        CARD,
        "netns",
        str(host.holder),
    )
    _inside(host.switch, "ip", "link", "set", port, "master", "switch", "up")
    # No addresses of the kernel's own: they would come a while later.
    host.ip("link", "set", CARD, "addrgenmode", "none")
    host.ip("link", "set", "lo", "up")
    host.ip("link", "set", CARD, "up")
    for address in addresses:
        host.ip("addr", "add", address, "dev", CARD, *(["nodad"] if ":" in address else []))


def _namespace(stack: ExitStack) -> int:
    """A network namespace, as the pid of the process that holds it, until its stdin is closed."""
    holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stack.callback(_end, holder, None)
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.write(b"there\n")
    holder.stdin.flush()
    # It answers once it is in there.
    assert holder.stdout.readline() == b"there\n"
    return holder.pid


def _end(process: subprocess.Popen[str] | subprocess.Popen[bytes], ear: threading.Thread | None) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if ear is not None:
        ear.join()
    if process.stdout is not None:
        process.stdout.close()


def _enter(holder: int) -> list[str]:
    return ["nsenter", f"--net=/proc/{holder}/ns/net", "--"]


def _inside(holder: int, *command: str) -> None:
    _run(*_enter(holder), *command)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
