"""Tests with real agent CLIs are not left out for want of them: whoever runs them without is told what to do."""

from __future__ import annotations

import os

import pytest

from tools.agent_clis import fetch


@pytest.fixture(autouse=True, scope="session")
def agent_clis() -> None:
    """Fails every test here where the pinned CLIs are missing; HELIO_SKIP_AGENT_CLIS=1 skips them, for a quick look."""
    if fetch.is_present(fetch.cache_folder()):
        return
    command = "the agent CLIs are not here: run `python3 tools/agent_clis/fetch.py` once"
    if os.environ.get("HELIO_SKIP_AGENT_CLIS") == "1":
        pytest.skip(command)
    pytest.fail(f"{command}, or set HELIO_SKIP_AGENT_CLIS=1", pytrace=False)
