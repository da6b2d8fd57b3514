"""The network as the file that the scorer loads: whole numbers where they suffice."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt

from node.core.screen_weights import FORMAT
from tools.screen.batches import Lexicon
from tools.screen.corpus import ASKS, ATTACKS
from tools.screen.network import Network

Floats = npt.NDArray[np.float64]


def _whole(values: npt.NDArray[np.float32], name: str) -> dict[str, npt.ArrayLike]:
    """Eight bits a number, with a scale for each column."""
    scale = np.maximum(np.abs(values).max(axis=0), 1e-9) / 127
    return {name: np.round(values / scale).astype(np.int8), f"{name}_scale": scale.astype(np.float32)}


def _whole_row(values: npt.NDArray[np.float32], name: str) -> dict[str, npt.ArrayLike]:
    """Eight bits a number; the few largest ones are cut, so that the many small ones keep their differences."""
    scale = max(float(np.quantile(np.abs(values[values != 0]), 0.999)), 1e-9) / 127
    return {name: np.clip(np.round(values / scale), -127, 127).astype(np.int8), f"{name}_scale": np.float32(scale)}


def exported(
    network: Network,
    lexicon: Lexicon,
    tables: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint16]],
    *,
    table: npt.NDArray[np.float32],
    version: str,
) -> bytes:
    """The bytes of the .npz, whose scores are not calibrated yet; the same for the same network whenever it is made."""

    def matrix(name: str) -> npt.NDArray[np.float32]:
        return np.asarray(network.get_parameter(name).detach().numpy(), np.float32)

    arrays: dict[str, npt.ArrayLike] = {
        "format": np.array(FORMAT),
        "version": np.array(version),
        "asks": np.array(ASKS),
        "kinds": np.array(ATTACKS),
        "classes": tables[0],
        "folded": tables[1],
        "known": lexicon.known,
        "turn": matrix("turn.weight").T,
        "near": matrix("near.weight").T,
        "near_bias": matrix("near.bias"),
        "hidden": matrix("hidden.weight").T,
        "hidden_bias": matrix("hidden.bias"),
        "says": matrix("says.weight").T,
        "says_bias": matrix("says.bias"),
        "calibration": np.array([[1, 0, 0], [1, 0, 0]], np.float32),
        "lines": np.array([1000, 1000], np.float32),
        **_whole_row(table, "grams"),
        "gram_share": np.ones(1, np.float32),
        **_whole(lexicon.vectors[1:], "fixed"),
        **_whole(matrix("words.weight"), "words"),
        **_whole(matrix("heads.weight"), "heads"),
        **_whole(matrix("tails.weight"), "tails"),
    }
    return _packed(arrays)


def relined(data: bytes, *, share: float, calibration: Floats, lines: tuple[float, float]) -> bytes:
    """The same weights with another share of the runs, calibration and lines."""
    with np.load(io.BytesIO(data), allow_pickle=False) as kept:
        arrays: dict[str, npt.ArrayLike] = {name: kept[name] for name in kept.files}
    arrays["gram_share"] = np.array([share], np.float32)
    arrays["calibration"] = calibration.astype(np.float32)
    arrays["lines"] = np.array(lines, np.float32)
    return _packed(arrays)


def _packed(arrays: dict[str, npt.ArrayLike]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()
