"""Writes node/data/mcp_catalogue.json from the tool table; with --check it only compares, for `tools/check`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mcp.types import Tool  # noqa: E402 - the tree must be importable before it is imported
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS  # noqa: E402

from node.mcp_tools import TOOLS, catalogue  # noqa: E402

TARGET = ROOT / "node" / "data" / "mcp_catalogue.json"


def wanted() -> str:
    """The file as it should be."""
    for tool in TOOLS.values():
        Tool.model_validate(tool.wire())
    whole = catalogue(HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS)
    return json.dumps(whole, indent=1, ensure_ascii=True) + "\n"


def main(arguments: list[str]) -> int:
    """0 when the file is as it should be (or was written), 1 when it differs, 2 for wrong arguments."""
    if arguments not in ([], ["--check"]):
        print("usage: gen_catalogue.py [--check]", file=sys.stderr)
        return 2
    if arguments:
        if TARGET.is_file() and TARGET.read_text(encoding="ascii") == wanted():
            return 0
        print(f"{TARGET.relative_to(ROOT)} differs from the tool table: run tools/gen_catalogue.py", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(wanted(), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
