"""The agent CLIs of the end-to-end tests, pinned, and the script that fetches them."""
