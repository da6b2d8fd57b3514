"""What heliograph comes with for its screen: the learnt weights, in the package itself."""

from __future__ import annotations

from importlib import resources
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.platform import arithmetic  # noqa: F401 - before numpy is loaded, which the next one does

# isort: split
from node.core.screen_scorer import Scorer

WEIGHTS: Final = "screen.npz"


def scorer(weights: bytes | None = None) -> Scorer:
    """With these weights, or those that heliograph came with; SCANNER_UNAVAILABLE when they are missing or damaged."""
    try:
        return Scorer.load(weights if weights is not None else (resources.files("node.data") / WEIGHTS).read_bytes())
    except OSError as error:
        raise _unavailable("its weights are missing") from error
    except ValueError as error:
        raise _unavailable(str(error)) from error


def _unavailable(why: str) -> MeshError:
    return MeshError(
        ErrorCode.SCANNER_UNAVAILABLE,
        f"The screen does not work ({why}), and nothing passes without it. Install heliograph again.",
    )
