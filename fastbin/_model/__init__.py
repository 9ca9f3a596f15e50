"""What models and sets of models have in common: their parts, how they are shown and saved, how they came about."""
