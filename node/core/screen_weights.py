"""The learnt weights of the scorer, read from their file and checked before any of them is used."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float32]"

FORMAT = 1
MAX_BYTES = 8 << 20
_MAX_UNPACKED = 64 << 20
_MAX_NUMBER = 1e4  # no sound weight comes near; a product of two stays far from overflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """`fixed` has a row for each of `known` after a first one of zeros; `lines` are in the names of `LINES`."""

    version: str
    digest: str
    classes: npt.NDArray[np.uint8]
    folded: npt.NDArray[np.uint16]
    known: npt.NDArray[np.uint32]  # rising
    fixed: Floats
    words: Floats
    heads: Floats
    tails: Floats
    grams: Floats
    gram_share: float  # of the sum of a window's gram weights that is added to its injection logit
    near: Floats
    near_bias: Floats
    hidden: Floats
    hidden_bias: Floats
    says: Floats
    says_bias: Floats
    asks: tuple[str, ...]
    kinds: tuple[str, ...]
    calibration: Floats  # injection then ask, each: slope, offset, and what is taken off for log(windows)
    lines: Floats  # per mille: injection at which to withhold, ask at which to hold for a person


def read_weights(data: bytes) -> Weights:
    """The weights in `data`, an .npz; ValueError says what is wrong with it."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"the weights have {len(data)} bytes, {MAX_BYTES} at most")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MAX_UNPACKED:
                raise ValueError("the weights unpack to too much")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {name: np.asarray(arrays[name]) for name in arrays.files}
        return _checked(found, hashlib.sha256(data).hexdigest())
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, OSError, NotImplementedError, MemoryError) as error:
        raise ValueError(f"the weights are damaged: {error}") from error


def _rising(known: npt.NDArray[np.generic]) -> bool:
    return bool((np.diff(known.astype(np.int64)) > 0).all())


def _checked(found: dict[str, npt.NDArray[np.generic]], digest: str) -> Weights:
    def floats(name: str, *shape: int) -> Floats:
        array = found[name]
        if array.dtype.kind not in "fi" or array.ndim != len(shape):
            raise ValueError(f"the weights are damaged: {name}")
        values = array.astype(np.float32)
        if f"{name}_scale" in found:
            values = values * found[f"{name}_scale"].astype(np.float32)
        fits = all(want in (-1, have) for want, have in zip(shape, values.shape, strict=True))
        if not fits or not np.isfinite(values).all() or (values.size and float(np.abs(values).max()) > _MAX_NUMBER):
            raise ValueError(f"the weights are damaged: {name}")
        return values

    def names(name: str) -> tuple[str, ...]:
        if found[name].dtype.kind != "U" or found[name].ndim != 1:
            raise ValueError(f"the weights are damaged: {name}")
        return tuple(str(value) for value in found[name])

    if found["format"].shape != () or int(found["format"].astype(np.int64)) != FORMAT:
        raise ValueError("the weights are of another format than this version of heliograph reads")
    asks, kinds = names("asks"), names("kinds")
    known = found["known"]
    if known.dtype != np.uint32 or known.ndim != 1 or not len(known) or not _rising(known):
        raise ValueError("the weights are damaged: known")
    turn = floats("turn", -1, -1)
    width = turn.shape[1]
    near_bias, hidden_bias = floats("near_bias", -1), floats("hidden_bias", -1)
    fixed = floats("fixed", len(known), turn.shape[0]) @ turn
    tables = {name: floats(name, -1, width) for name in ("words", "heads", "tails")}
    runs = floats("grams", -1)
    if any(len(table).bit_count() != 1 for table in (*tables.values(), runs)):
        raise ValueError("the weights are damaged: a table's size is no power of two")
    outputs = 1 + len(asks) + len(kinds)
    return Weights(
        version=str(found["version"]),
        digest=digest,
        classes=found["classes"].astype(np.uint8),
        folded=found["folded"].astype(np.uint16),
        known=known.astype(np.uint32),
        fixed=np.concatenate([np.zeros((1, width), np.float32), fixed]),
        words=tables["words"],
        heads=tables["heads"],
        tails=tables["tails"],
        grams=runs,
        gram_share=float(floats("gram_share", 1)[0]),
        near=floats("near", 3 * width, len(near_bias)),
        near_bias=near_bias,
        hidden=floats("hidden", 3 * len(near_bias), len(hidden_bias)),
        hidden_bias=hidden_bias,
        says=floats("says", len(hidden_bias), outputs),
        says_bias=floats("says_bias", outputs),
        asks=asks,
        kinds=kinds,
        calibration=floats("calibration", 2, 3),
        lines=floats("lines", 2),
    )
