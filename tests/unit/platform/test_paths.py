"""Folders: short enough for sockets, and private or refused."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.platform import paths

SHORT = Path("/tmp")  # noqa: S108  (where the short folders are)


def test_the_home_is_where_the_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(paths.HOME_VARIABLE, raising=False)
    assert paths.home() == tmp_path / ".heliograph"
    monkeypatch.setenv(paths.HOME_VARIABLE, "~/second")
    assert paths.home() == tmp_path / "second"
    monkeypatch.setenv(paths.HOME_VARIABLE, "relative")
    assert paths.home() == Path.cwd() / "relative"


def test_a_short_home_holds_its_sockets(tmp_path: Path) -> None:
    home = SHORT / f"h{os.getpid()}"
    try:
        run = paths.run_dir(home)
        assert run == home / "run"
        assert run.stat().st_mode & 0o777 == 0o700
        assert paths.run_dir(home) == run
    finally:
        (home / "run").rmdir()
        home.rmdir()


def test_a_long_home_gets_a_short_folder_of_its_own(tmp_path: Path) -> None:
    first, second = tmp_path / ("x" * 90), tmp_path / ("x" * 89 + "y")
    runs = [paths.run_dir(home) for home in (first, second)]
    try:
        assert runs[0] != runs[1]
        assert runs[0] == paths.run_dir(first)
        for run in runs:
            name = run / ("s" * paths.SOCKET_NAME_BYTES)
            assert len(os.fsencode(name)) < paths.SOCKET_PATH_BYTES
            with socket.socket(socket.AF_UNIX) as sock:
                sock.bind(str(name))
            name.unlink()
    finally:
        for run in runs:
            run.rmdir()


@pytest.mark.parametrize("length", range(70, 84))
def test_whatever_the_length_a_socket_fits(tmp_path: Path, length: int) -> None:
    home = SHORT / ("h" * (length - len(f"{SHORT}/")))
    run = paths.run_dir(home)
    try:
        assert len(os.fsencode(run / ("s" * paths.SOCKET_NAME_BYTES))) < paths.SOCKET_PATH_BYTES
    finally:
        run.rmdir()
        if run.parent == home:
            home.rmdir()


def test_bytes_count_not_letters(tmp_path: Path) -> None:
    home = SHORT / ("\u00e9" * 38)
    run = paths.run_dir(home)
    try:
        assert run.parent == SHORT
    finally:
        run.rmdir()


def _refusal(directory: Path) -> str:
    with pytest.raises(MeshError) as refused:
        paths.check_private(directory)
    assert refused.value.code is ErrorCode.UNAVAILABLE
    return refused.value.message


def test_only_a_private_folder_of_ours_will_do(tmp_path: Path) -> None:
    private, opened, file, link = (tmp_path / name for name in ("private", "opened", "file", "link"))
    private.mkdir(mode=0o700)
    paths.check_private(private)
    opened.mkdir()
    opened.chmod(0o710)
    file.touch()
    link.symlink_to(private)
    assert "chmod 700" in _refusal(opened)
    assert "not a folder" in _refusal(file)
    assert "not a folder" in _refusal(link)
    assert "cannot be looked at" in _refusal(tmp_path / "missing")


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a folder away")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o700)
    os.chown(foreign, 12345, -1)
    assert "belongs to user 12345" in _refusal(foreign)


def test_a_link_laid_in_the_way_is_not_followed(tmp_path: Path) -> None:
    home = tmp_path / ("z" * 90)
    run = paths.run_dir(home)
    run.rmdir()
    (tmp_path / "trap").mkdir(mode=0o700)
    run.symlink_to(tmp_path / "trap")
    try:
        with pytest.raises(MeshError, match="not a folder"):
            paths.run_dir(home)
    finally:
        run.unlink()
