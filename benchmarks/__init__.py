"""Figures that a user would feel, each against a floor measured in the same run."""
