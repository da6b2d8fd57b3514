"""The command line `helio`: a front door like any other, a client of the node's local API."""
