"""The gates of `tools/check`. The runner needs the standard library only: it starts before anything is installed."""
