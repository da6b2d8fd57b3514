"""Becomes the program that a private file names, with exactly its arguments, environment and folder.

tmux is given `python -I -S launch.py FILE`: it splits words at a final `;`, hands a lone word to a shell, and mixes its
own environment in, so neither the program's words nor its environment may pass through it. A script, stdlib only.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

NOT_STARTED = 127


def main(spec_path: str) -> int:
    """Replace this process as the file says and remove the file; 127 with a sentence on stderr if it cannot be done."""
    path = Path(spec_path)
    try:
        spec = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
        words = [_raw(word) for word in spec["argv"]]
        environment = {_raw(name): _raw(value) for name, value in spec["env"].items()}
        # Of what tmux sets, only this is true for the program: the terminal which it emulates, whatever was asked for.
        environment[b"TERM"] = _raw(os.environ.get("TERM", "screen"))
        os.chdir(_raw(spec["cwd"]))
        # Python ignores these, and what is ignored stays so through exec: the program would not die of a closed pipe.
        for name in ("SIGPIPE", "SIGXFSZ"):
            signal.signal(signal.Signals[name], signal.SIG_DFL)
        os.execvpe(words[0], words, environment)  # noqa: S606  (no shell is the point)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"heliograph could not start the program of this session: {error}\n")
    return NOT_STARTED


def _raw(text: str) -> bytes:
    # Independent of the locale that tmux was started in.
    return text.encode("utf-8", "surrogateescape")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
