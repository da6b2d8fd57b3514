"""Puts a bench that was started as a file into the project's environment. Standard library only, any Python 3."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
# The interpreter is chosen as `tools/check` does it: the one that started the bench may be too old for set-up.
_SET_UP = '. tools/find_python.sh && exec "$PYTHON" -m tools.setup_env --profile dev'


def enter(program: str) -> None:
    """Returns at once inside `.venv`; elsewhere makes that and starts `program` anew in it.

    Exits with the code of the set-up when that fails.
    """
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    # Standard output belongs to the bench: its --json is one object.
    done = subprocess.run(["sh", "-eu", "-c", _SET_UP], cwd=str(ROOT), stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise SystemExit(done.returncode)
    python = str(VENV / "bin" / "python")
    os.execv(python, [python, str(Path(program).resolve()), *sys.argv[1:]])  # noqa: S606 - a shell would have nothing to do here
