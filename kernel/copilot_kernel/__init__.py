"""A coding agent inside the notebook. Importing this package imports nothing else."""

__version__ = "0.1.0.dev0"
