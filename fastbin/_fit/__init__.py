"""Shared by the fits of all calibrators: rows, passes over them, partitions and tallies."""
