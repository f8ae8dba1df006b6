"""The problems: one folder each, the loader, and the formula language of problem.toml."""
