"""Runs a command in this terminal, keeps what it said, and stays until the terminal ends.

in_pane.py RESULT COMMAND...: RESULT becomes a JSON file with `code`, `out` and `err`, whole or not at all.
"""

import json
import subprocess
import sys
from pathlib import Path

result = Path(sys.argv[1])
done = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
draft = result.with_suffix(".new")
draft.write_text(json.dumps({"code": done.returncode, "out": done.stdout, "err": done.stderr}), encoding="utf-8")
draft.rename(result)
sys.stdin.read()
