"""Models and sets of models, as far as they are alike: their parts, how they are shown and saved, how they came about."""
