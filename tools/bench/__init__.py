"""Benches: programs which compare heliograph with itself and with others, in one run on one machine."""
