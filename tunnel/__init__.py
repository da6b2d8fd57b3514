"""The mirrored tunnel: a directed edge from a client node to a server node."""
