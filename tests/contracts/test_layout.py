"""The tree is laid out as the design says, and pyproject.toml ships what is in it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tools.gates.project import ROOT, SHIPPED, is_generated, listed_packages, tracked_files

TOP_LEVEL = {"node", "proto", "tests", "tools", "tunnel", "docs", "pyproject.toml", "README.md"}
TOP_LEVEL |= {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "SECURITY.md"}
TEST_KINDS = {"contracts", "e2e", "integration", "property", "unit", "vectors"}


@pytest.fixture(scope="module")
def files() -> list[Path]:
    return [path.relative_to(ROOT) for path in tracked_files()]


def test_the_listed_packages_are_the_packages_of_the_tree(files: list[Path]) -> None:
    found = {".".join(file.parent.parts) for file in files if file.name == "__init__.py" and file.parts[0] in SHIPPED}
    assert sorted(found) == listed_packages()


def test_every_folder_with_python_is_a_package(files: list[Path]) -> None:
    folders = {file.parent for file in files if file.suffix == ".py" and file.parts[0] in SHIPPED}
    assert [folder for folder in sorted(folders) if folder / "__init__.py" not in files] == []


def test_the_top_level_is_fixed(files: list[Path]) -> None:
    visible = {file.parts[0] for file in files if not file.parts[0].startswith(".")}
    assert visible - TOP_LEVEL == set()


def test_every_test_is_of_a_known_kind(files: list[Path]) -> None:
    tests = [file for file in files if file.parts[0] == "tests" and file.name.startswith("test_")]
    assert tests
    assert [test for test in tests if test.parts[1] not in TEST_KINDS] == []


def test_unit_tests_mirror_the_tree(files: list[Path]) -> None:
    """tests/unit/core/test_x.py tests something of node/core; tests/unit/tunnel/ something of tunnel/."""
    folders = {file.parent.relative_to("tests/unit") for file in files if file.parts[:2] == ("tests", "unit")}
    lost = [
        folder
        for folder in sorted(folders)
        if not (ROOT / "node" / folder).is_dir() and not (folder.parts and (ROOT / folder).is_dir())
    ]
    assert lost == []


def test_proto_holds_sources_only(files: list[Path]) -> None:
    kinds = {file.suffix for file in files if file.parts[0] == "proto"}
    assert kinds <= {".proto", ".yaml"}
    assert ".proto" in kinds


def test_the_package_of_a_proto_is_its_path(files: list[Path]) -> None:
    protos = [file for file in files if file.suffix == ".proto"]
    wrong = [
        str(file)
        for file in protos
        if f"\npackage {'.'.join(file.parent.relative_to('proto').parts)};\n" not in (ROOT / file).read_text("utf-8")
    ]
    assert wrong == []


def test_generated_code_has_its_source(files: list[Path]) -> None:
    stems = {file.relative_to("proto").with_suffix("") for file in files if file.suffix == ".proto"}
    orphans = [
        str(file) for file in files if is_generated(file) and file.parent / file.name.split("_pb2")[0] not in stems
    ]
    assert orphans == []


def test_the_command_and_the_package_data_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["scripts"] == {"helio": "node.entry:main"}
    data: dict[str, list[str]] = project["tool"]["setuptools"]["package-data"]
    empty = [
        f"{package}: {pattern}"
        for package, patterns in data.items()
        for pattern in patterns
        if not any((ROOT / package.replace(".", "/")).glob(pattern))
    ]
    assert empty == []
