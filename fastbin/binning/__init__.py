"""Ways to choose a partition, one file each, and the fold that all of them share."""
