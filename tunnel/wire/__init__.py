"""The wire: generated messages, nothing else."""
