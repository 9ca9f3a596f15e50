"""How exports are run where they are meant to run: one runner for each target, and what they have in common."""
