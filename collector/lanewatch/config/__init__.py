"""The configuration: one TOML file and LANEWATCH_* variables, checked as a whole."""
