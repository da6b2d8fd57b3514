"""Data that ships with the node; made by tools, never edited by hand."""
