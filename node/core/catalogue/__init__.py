"""Words for the timeline's codes: rows hold codes alone, whoever reads them sees words of their language."""
