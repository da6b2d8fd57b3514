"""The pure domain: no I/O, no clock, no randomness; time, ids and salts are arguments."""
