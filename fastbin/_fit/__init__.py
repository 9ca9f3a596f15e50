"""What the fits of all calibrators share: rows, passes over them, partitions and tallies."""
