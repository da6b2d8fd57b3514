"""The measures of the network, which the trainer and the scorer must agree on; they are stored with the weights."""

WORDS, HEADS, TAILS = 15, 13, 13  # bits of the tables of learnt words, beginnings and ends
GRAMS = 20  # bits of the table of runs of letters and words
WIDTH = 48  # numbers of a word
FEATURES = 64  # of a word among its neighbours
HIDDEN = 48
BLOCK = 16  # tokens; a window is three blocks, and one begins with every block
WINDOW = 3
