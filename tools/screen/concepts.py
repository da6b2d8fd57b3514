"""How near each known word is to the concepts of the rules' lexicon, which joins the languages it has words of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from node.core.screen_lexicon import LEXICON
from node.core.screen_views import fold
from node.core.screen_words import VOCABULARY

Floats = npt.NDArray[np.float32]
CONCEPTS = tuple(
    sorted({word for table in LEXICON.values() for word in table.split() if word.isascii() and word.isupper()})
)
NEAR = 0.6  # likeness from which a word counts in part


def concept_numbers(words: Sequence[str], unit: Floats) -> Floats:
    """(words, concepts): 1 for a word of the lexicon, a part for one whose vector in `unit` is near such a word's."""
    letters = {name: set(VOCABULARY.classes[name]) for name in CONCEPTS}
    numbers = np.zeros((len(words), len(CONCEPTS)), np.float32)
    for row, word in enumerate(words):
        lexeme = VOCABULARY.lookup(fold(word))
        if lexeme is not None:
            for column, name in enumerate(CONCEPTS):
                numbers[row, column] = lexeme.letter in letters[name]
    for column in range(len(CONCEPTS)):
        members = np.flatnonzero(numbers[:, column] == 1)
        if len(members):
            like = (unit @ unit[members].T).max(axis=1)
            numbers[:, column] = np.maximum(numbers[:, column], np.clip((like - NEAR) / (1 - NEAR), 0, 1) * 0.7)
    return np.asarray(np.round(numbers * 8) / 8, np.float32)
