"""A fit of a Spark table beside Spark's own approximate quantiles, and what each pass costs by Spark's own figures.

    python bench/spark_fit.py --rows 1e7                # in a local session of two threads, Parquet made for it; needs Java 17
    python bench/spark_fit.py --rows 1e8 --rounds 1
    python bench/spark_fit.py --rows 1e7 --certified

`approxQuantile` is asked for the same probabilities with a relative error of .001. It gives quantiles alone, and not exactly;
counts by label between them would be another pass. Both are run once before the clock, then in turn.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import fastbin as fb

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]

from machine import machine  # noqa: E402

from spark_sessions import Meter, session  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--bins", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--certified", action="store_true", help="fit CertifiedCalibration, which asks for 1,000 ranks")
    given = parser.parse_args()
    print(machine())
    with (
        tempfile.TemporaryDirectory(prefix="fastbin-spark-") as folder,
        session(Path(folder), f"local[{given.threads}]") as spark,
    ):
        table = made(spark, str(Path(folder) / "rows.parquet"), int(given.rows))
        calibrator = fb.CertifiedCalibration() if given.certified else fb.UniformMassBinning(given.bins)
        probabilities = [k / given.bins for k in range(1, given.bins)]

        def fit() -> object:
            return fb.engines.fit(table, score="p", label="y", calibrator=calibrator)

        def approximate() -> object:
            return table.approxQuantile("p", probabilities, 1e-3)

        meter = Meter(spark)
        fb.engines.fit(table, score="p", label="y", calibrator=calibrator, progress=meter)
        for number, one in enumerate(meter.passes, 1):
            print(f"pass {number}: {one}")
        report(fit, approximate, given.rounds)


def made(spark: Any, path: str, n_rows: int) -> Any:
    """Rows in Parquet: scores of a skewed distribution, labels that follow them."""
    columns = ("pow(rand(1), 2) AS p", "rand(2) AS u")
    spark.range(n_rows).selectExpr(*columns).selectExpr("p", "CAST(u < p AS int) AS y").write.parquet(path)
    return spark.read.parquet(path)


def report(fit: Callable[[], object], approximate: Callable[[], object], rounds: int) -> None:
    """Seconds of both, in turn, and the median ratio."""
    approximate()
    times: list[tuple[float, float]] = []
    for _ in range(rounds):
        starts = time.perf_counter()
        fit()
        between = time.perf_counter()
        approximate()
        times.append((between - starts, time.perf_counter() - between))
    mine, theirs = (median(column) for column in zip(*times, strict=True))
    ratio = median(a / b for a, b in times)
    print(f"median of {rounds}: fit {mine:.2f} s, approxQuantile(1e-3) {theirs:.2f} s, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
