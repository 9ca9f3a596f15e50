"""Nothing of it can be seen from Python."""
