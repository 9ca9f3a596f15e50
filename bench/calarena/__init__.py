"""A proxy of public calibration benchmarks on score sets that are at hand: ``python -m bench.calarena --help``."""
