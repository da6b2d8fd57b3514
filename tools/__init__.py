"""Programs for whoever works on heliograph: the gates, the set-up, the generators, the benches. Not shipped."""
