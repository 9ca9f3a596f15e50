"""The words of the library's errors as those of the command line: an argument of a function is an option."""

from __future__ import annotations

import re

PHRASES = {
    re.compile(pattern): option
    for pattern, option in {
        "pass positive= with": "give --positive with",
        r"open it by fb\.io\.open_table\(path, (\w+)='(.*?)'\)": r"give --\1 \2",
        r"pass run_code=True": "give --run",
        r"raise memory_limit$": "raise --memory-limit",
        r"labels are 0 and 1, or False and True, and come second, after the scores or predictions": (
            "labels are 0 and 1, or true and false; name their column by --label, or the label that counts as 1 by --positive"
        ),
    }.items()
}
WORDS = {
    "score_range=None at fit": "--score-range any at fit",
    "score_range=(0, 100) at fit": "--score-range 0,100 at fit",
    "edges_share=": "--edges-share ",
    "edges_share": "--edges-share",
    "n_bins=": "--n-bins ",
    "n_bins is": "--n-bins is",
    "sample_weight": "--weights",
    "feature='score'": "--feature score",
    "smoothing='add-half'": "--smoothing add-half",
    "pass the rate": "give --target-rate",
    "inputs='logits'": "--inputs logits",
    "classes=[...]": "--class-labels",
    "thin='pool'": "--thin pool",
    "thin is": "--thin is",
    "unknown='pool'": "--unknown pool",
    "unknown is": "--unknown is",
    "min_points": "--min-points",
    "points_per_bin": "--points-per-bin",
}


def in_options(message: str) -> str:
    """What an error about arguments says, as one about options. Names of columns may be among its words."""
    for word, option in WORDS.items():
        message = message.replace(word, option)
    return with_remedies(message)


def with_remedies(message: str) -> str:
    """What any error says, with the options that its remedy needs."""
    for pattern, option in PHRASES.items():
        message = pattern.sub(option, message)
    return message
