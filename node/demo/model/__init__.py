"""A scripted model for real agent CLIs: the demo and the tests let them run their whole loop without a vendor."""
