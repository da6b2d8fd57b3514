"""The demo: real sessions whose agents follow a script instead of a model."""
