"""One thread for numpy's matrices, to be imported before it: they are small, and a node has other work for processors.

Several threads wait for one another at every step, in a loop: on a busy machine that takes ten times as long. What is
set already stays.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("VECLIB_MAXIMUM_THREADS", "1")

import numpy as np

__all__ = ["np"]
