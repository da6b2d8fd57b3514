"""Floors are true, the locks hold what they promise, and nothing in them says where to fetch it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.gates.project import ROOT

RUN = ROOT / "tools" / "requirements-run.txt"
DEV = ROOT / "tools" / "requirements-dev.txt"
NPM = ROOT / "tools" / "npm" / "package-lock.json"
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)", re.MULTILINE)


def pinned(lock: Path) -> dict[str, Version]:
    found = PIN.finditer(lock.read_text("utf-8"))
    return {canonicalize_name(match["name"]): Version(match["version"]) for match in found}


def project_requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named: list[str] = [*project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        named += extra
    for group in ("build", "dev"):
        named += [entry for entry in project["dependency-groups"][group] if isinstance(entry, str)]
    return [Requirement(text) for text in named]


def floor(name: str) -> Version:
    (requirement,) = [found for found in project_requirements() if canonicalize_name(found.name) == name]
    (specifier,) = requirement.specifier
    return Version(specifier.version)


@pytest.mark.parametrize("requirement", project_requirements(), ids=lambda found: found.name)
def test_every_dependency_has_a_floor_and_no_cap_and_its_pin_meets_it(requirement: Requirement) -> None:
    assert [specifier.operator for specifier in requirement.specifier] == [">="]
    assert pinned(DEV)[canonicalize_name(requirement.name)] in requirement.specifier


def test_the_lock_of_the_gates_holds_everything_that_runs_at_the_same_versions() -> None:
    run, dev = pinned(RUN), pinned(DEV)
    assert run
    assert {name: dev.get(name) for name in run} == run


@pytest.mark.parametrize("lock", [RUN, DEV], ids=["run", "dev"])
def test_every_pin_has_hashes(lock: Path) -> None:
    blocks = re.split(r"\n(?=\S)", lock.read_text("utf-8"))
    pins = [block for block in blocks if PIN.match(block)]
    assert pins
    assert [block.split()[0] for block in pins if "--hash=sha256:" not in block] == []


@pytest.mark.parametrize("lock", [RUN, DEV], ids=["run", "dev"])
def test_a_lock_names_no_place_to_fetch_from(lock: Path) -> None:
    assert re.findall(r"(?i)https?:|file:|index-url|find-links|trusted-host| @ ", lock.read_text("utf-8")) == []


def test_the_npm_lock_has_hashes_and_names_no_place_to_fetch_from() -> None:
    packages: dict[str, dict[str, object]] = json.loads(NPM.read_text("utf-8"))["packages"]
    locked = {name: entry for name, entry in packages.items() if name}
    assert locked
    assert [name for name, entry in locked.items() if "resolved" in entry or "integrity" not in entry] == []


def test_the_floors_are_not_below_what_generated_code_accepts() -> None:
    services = sorted(ROOT.glob("node/wire/v1/*_pb2_grpc.py"))
    assert services
    for service in services:
        found = re.search(r"^GRPC_GENERATED_VERSION = '([\d.]+)'", service.read_text("utf-8"), re.MULTILINE)
        assert found is not None
        assert floor("grpcio") >= Version(found[1])
    for messages in sorted(ROOT.glob("node/wire/v1/*_pb2.py")):
        found = re.search(r"^# Protobuf Python Version: ([\d.]+)", messages.read_text("utf-8"), re.MULTILINE)
        assert found is not None
        assert floor("protobuf") >= Version(found[1])
