"""The contracts of tools/arrows.toml name real rooms, and catch each arrow that points the wrong way."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.gates.project import ROOT, SHIPPED, program

ARROWS = ROOT / "tools" / "arrows.toml"
CONTRACTS: list[dict[str, object]] = tomllib.loads(ARROWS.read_text("utf-8"))["tool"]["importlinter"]["contracts"]


def rooms() -> set[str]:
    """Every module that the exhaustive layer contracts have a place for."""
    found = set(SHIPPED)
    for contract in CONTRACTS:
        if contract["type"] == "layers":
            (container,) = contract["containers"]  # type: ignore[misc, attr-defined]
            names = re.findall(r"\w+", " ".join(contract["layers"]))  # type: ignore[call-overload]
            found |= {f"{container}.{name}" for name in names}
    return found


def named(contract: dict[str, object]) -> set[str]:
    options = ("source_modules", "forbidden_modules", "protected_modules", "allowed_importers")
    return {name for option in options for name in contract.get(option, [])}  # type: ignore[attr-defined]


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: str(contract["name"])[:40])
def test_a_contract_names_no_room_that_has_no_place(contract: dict[str, object]) -> None:
    ours = {name for name in named(contract) if name.split(".")[0] in SHIPPED}
    assert ours - rooms() == set()


GOOD = {
    "node/core/model.py": "import enum",
    "node/ports.py": "from node.core import model",
    "node/store/tx.py": "import sqlite3\nfrom node import ports",
    "node/broker.py": "from node import ports",
    "node/inbox.py": "from node import ports",
    "node/wire/v1/local_pb2.py": "import google.protobuf",
    "node/grpc_setup.py": "import grpc",
    "node/codec.py": "from node.wire.v1 import local_pb2",
    "node/local_api.py": "from node import codec, grpc_setup, ports",
    "node/local_client.py": "from node import codec, grpc_setup",
    "node/shim.py": "import json",
    "node/daemon.py": "from node import broker, inbox, local_api, store",
    "node/cli/app.py": "import click\nfrom node import daemon, local_client",
    "tunnel/mirror.py": "import enum",
    "tunnel/codec.py": "from tunnel import mirror",
}
WRONG = {
    "node/broker.py": ("from node import inbox", "services and adapters never import each other"),
    "node/ports.py": ("from node import store", "services and adapters never import each other"),
    "node/store/tx.py": ("from node import broker", "services and adapters never import each other"),
    "node/stray.py": ("import json", "services and adapters never import each other"),
    "tunnel/mirror.py": ("import socket", "the mirror's state is pure"),
    "tunnel/codec.py": ("from tunnel import session", "session over codec over wire"),
    "node/core/model.py": ("import time", "the core is pure"),
    "node/inbox.py": ("import sqlite3", "SQL stops at the store"),
    "node/audit.py": ("from node.wire.v1 import local_pb2", "protobuf messages stop at the codec"),
    "node/codec.py": ("import grpc", "gRPC is imported in one place"),
    "node/files.py": ("from node import grpc_setup", "gRPC stops at the doors"),
    "node/web.py": ("import pydantic", "pydantic stops"),
    "node/daemon.py": ("import click", "click stops at the command lines"),
    "node/peers.py": ("import zeroconf", "zeroconf stops at discovery"),
    "node/demo/play.py": ("from node import daemon", "the daemon is imported by the command line alone"),
    "node/local_api.py": ("from tunnel import mirror", "the tunnel is composed beside the daemon"),
    "node/cli/app.py": ("from node import broker", "a front door is an ordinary client"),
    "node/shim.py": ("import psutil", "the shim starts on the standard library alone"),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for name, source in GOOD.items():
        write(tmp_path, name, source)
    write(tmp_path, "tunnel/session.py", "")
    return tmp_path


def write(tree: Path, name: str, source: str) -> None:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source + "\n", encoding="utf-8")
    for folder in path.relative_to(tree).parents:
        if folder.parts:
            (tree / folder / "__init__.py").touch()


def broken(tree: Path) -> str:
    """The linter's words on the contracts which `tree` breaks, on one line; empty when it breaks none."""
    command = [sys.executable, program("lint-imports"), "--no-cache", "tools/arrows.toml"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert "Contracts:" in done.stdout, done.stdout + done.stderr
    _, found, words = done.stdout.partition("Broken contracts\n")
    assert (done.returncode == 0) == (not found)
    return " ".join(words.split())


def test_a_tree_with_every_arrow_the_right_way_keeps_all_contracts(tree: Path) -> None:
    assert broken(tree) == ""


@pytest.mark.parametrize("name", sorted(WRONG))
def test_an_arrow_that_points_the_wrong_way_breaks_its_contract(tree: Path, name: str) -> None:
    source, contract = WRONG[name]
    write(tree, name, f"{GOOD.get(name, '')}\n{source}")
    assert contract in broken(tree)
