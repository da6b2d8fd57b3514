"""The comparison behind the wheel gate finds what is missing and what is too much."""

from __future__ import annotations

from pathlib import PurePosixPath

from tools.gates.wheel import disagreements, expected_members, importable_modules

PACKAGES = ["node", "node.data", "node.store", "node.wire.v1", "tunnel"]
TREE = [
    PurePosixPath(name)
    for name in (
        "node/__init__.py",
        "node/data/__init__.py",
        "node/data/node.service",
        "node/entry.py",
        "node/py.typed",
        "node/store/__init__.py",
        "node/store/migrations/0001_start.sql",
        "node/wire/v1/local_pb2.py",
        "node/wire/v1/local_pb2.pyi",
        "proto/node/wire/v1/local.proto",
        "pyproject.toml",
        "tests/unit/test_entry.py",
        "tools/lock.py",
        "tunnel/__init__.py",
        "tunnel/py.typed",
    )
]
METADATA = {"heliograph-0.1.0.dist-info/licenses/LICENSE", "heliograph-0.1.0.dist-info/entry_points.txt"}


def whole_wheel() -> set[str]:
    return {str(file) for file in TREE if file.parts[0] in {"node", "tunnel"}} | METADATA


def test_a_wheel_with_everything_and_nothing_more_is_right() -> None:
    assert disagreements(whole_wheel(), TREE, PACKAGES) == []


def test_each_missing_member_is_named() -> None:
    for member in sorted(whole_wheel() - METADATA):
        assert f"missing: {member}" in disagreements(whole_wheel() - {member}, TREE, PACKAGES)


def test_missing_licence_and_command_are_named() -> None:
    found = disagreements(whole_wheel() - METADATA, TREE, PACKAGES)
    assert found == [
        "missing from its metadata: licenses/LICENSE",
        "missing from its metadata: entry_points.txt",
    ]


def test_what_does_not_belong_is_named() -> None:
    found = disagreements({*whole_wheel(), "tests/unit/test_entry.py", "node/stray.txt"}, TREE, PACKAGES)
    assert found == ["should not be there: node/stray.txt", "should not be there: tests/unit/test_entry.py"]


def test_a_package_that_is_not_listed_is_not_expected() -> None:
    assert "node/store/__init__.py" not in expected_members(TREE, ["node"])


def test_modules_are_imported_by_their_dotted_names_but_not_run() -> None:
    members = ["node/__init__.py", "node/__main__.py", "node/store/tx.py", "node/store/migrations/0001_start.sql"]
    assert importable_modules(members) == ["node", "node.store.tx"]
