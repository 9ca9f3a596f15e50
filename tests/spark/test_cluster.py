"""A fit on a standalone cluster of which a part dies meanwhile: `.ci/thorough spark` runs this."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import fastbin as fb
from spark_sessions import Cluster, ask, cluster, needs_spark, session, wait_for

pytestmark = needs_spark

N_ROWS, N_FILES = 2_000_000, 8


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, str]:
    """Scores and labels, and a folder of files with them."""
    rng = np.random.default_rng(3)
    scores = rng.beta(0.5, 2.0, N_ROWS)
    labels = rng.random(N_ROWS) < scores
    folder = tmp_path_factory.mktemp("rows")
    for number, part in enumerate(np.array_split(np.arange(N_ROWS), N_FILES)):
        table = pa.table({"p": scores[part], "y": labels[part]})
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet", compression="none")
    return scores, labels, str(folder)


@pytest.fixture
def machines(tmp_path: Any) -> Iterator[Cluster]:
    with cluster(tmp_path) as found:
        yield found


def executors(spark: Any) -> set[str]:
    """Those that are alive."""
    context = spark.sparkContext
    known = ask(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/executors") or []
    return {executor["id"] for executor in known if executor["id"] != "driver"}


def running_tasks(spark: Any) -> int:
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(stage.numActiveTasks for stage in stages if stage is not None)


@pytest.mark.parametrize(
    "method", [fb.UniformMassBinning(50, ties="random"), fb.CertifiedCalibration()], ids=["umd", "certified"]
)
def test_the_bytes_are_those_in_memory_though_a_worker_is_killed(
    rows: tuple[Any, Any, str], machines: Cluster, tmp_path: Any, method: Any
) -> None:
    scores, labels, folder = rows
    local = method.fit(scores, labels).model_.to_bytes()
    settings = {"spark.executor.cores": "1", "spark.sql.files.maxPartitionBytes": "1m", "spark.ui.liveUpdate.period": "0"}
    with session(tmp_path, machines.url, **settings) as spark:
        wait_for(lambda: len(executors(spark)) == 2, "an executor on each worker")
        passes: list[int] = []
        killers: list[threading.Thread] = []

        def kill_while_tasks_run() -> None:
            wait_for(lambda: running_tasks(spark) > 0, "a running task")
            machines.workers[0].kill()

        def progress(n_pass: int, n_rows: int) -> None:
            assert n_rows == N_ROWS
            passes.append(n_pass)
            if n_pass == 1:
                killers.append(threading.Thread(target=kill_while_tasks_run))
                killers[0].start()

        model = fb.engines.fit(spark.read.parquet(folder), score="p", label="y", calibrator=method, progress=progress)
        killers[0].join()
        assert len(passes) >= 2
        assert model.to_bytes() == local
        assert machines.workers[0].wait(10) == -9
        wait_for(lambda: machines.n_workers() == 1, "the end of a worker")
        wait_for(lambda: len(executors(spark)) == 1, "the end of its executor")
