"""The heliograph node: the daemon on one Mac, its services, adapters and doors."""
