"""The tunnel's streams: both ends of each."""
