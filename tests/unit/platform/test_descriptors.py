"""The limit of open files, in a process of its own: it cannot be taken back."""

from __future__ import annotations

import subprocess
import sys

ASK = """
import resource
from node.platform import descriptors
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}))
print(descriptors.raise_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def asked(hard: str) -> list[int]:
    done = subprocess.run([sys.executable, "-c", ASK.format(hard=hard)], capture_output=True, text=True, check=True)
    return [int(number) for number in done.stdout.split()]


def test_more_descriptors_are_asked_for() -> None:
    raised, there = asked("hard")
    assert raised == there > 256


def test_no_more_are_asked_for_than_the_system_gives() -> None:
    assert asked("512") == [512, 512]
