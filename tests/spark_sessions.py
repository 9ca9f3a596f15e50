"""Spark for tests, on loopback alone: local sessions, a standalone cluster of two workers; and what Spark says of each pass.

No Python is ever started on an executor: its path leads nowhere.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

NO_PYTHON = "/nowhere/python"
HOST = "127.0.0.1"
SECONDS_TO_START = 60.0

needs_spark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="no java (Debian: openjdk-17-jre-headless)"),
    pytest.mark.filterwarnings("ignore"),  # of PySpark, about the versions of others
]

SETTINGS = {
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.driver.memory": "2g",
    "spark.executor.memory": "1g",
    "spark.pyspark.python": NO_PYTHON,
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Else the bytes that are read from local files are not counted.
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    # Java's snappy loads the library for musl where musl is installed, and fails.
    "spark.sql.parquet.compression.codec": "none",
}


@contextmanager
def session(folder: Path, master: str = "local[2]", **settings: str) -> Iterator[Any]:
    """A classic session."""
    pyspark = pytest.importorskip("pyspark", reason="no PySpark")
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = HOST
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder.master(master).appName(f"fastbin, PySpark {pyspark.__version__}")
        own = {"spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse")}
        for name, value in {**SETTINGS, **own, **settings}.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def wait_for(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while not condition():
        assert time.monotonic() < end, f"{what} did not come about in {SECONDS_TO_START:.0f} s"
        time.sleep(0.1)


def ask(url: str) -> Any:
    """The answer of Spark, or ``None`` while it does not."""
    try:
        with urllib.request.urlopen(url, timeout=SECONDS_TO_START) as answer:
            return json.load(answer)
    except OSError:
        return None


class Cluster(NamedTuple):
    """A standalone cluster: processes of one master and two workers of one core each."""

    url: str
    web: str
    workers: list[subprocess.Popen[bytes]]

    def n_workers(self) -> int:
        """How many are alive, as the master sees it."""
        state = ask(f"{self.web}/json/")
        return sum(worker["state"] == "ALIVE" for worker in state["workers"]) if state else -1


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Started, and stopped with all that it started."""
    pyspark = pytest.importorskip("pyspark", reason="no PySpark")
    home = Path(pyspark.__file__).parent
    port, web = free_port(), free_port()
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(folder),
        }  # fmt: skip
        with open(folder / f"{len(processes)}.log", "wb") as log:
            command = [str(home / "bin/spark-class"), f"org.apache.spark.deploy.{name}", "--host", HOST, *arguments]
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        processes.append(process)
        return process

    try:
        start("master.Master", "--port", str(port), "--webui-port", str(web))
        found = Cluster(f"spark://{HOST}:{port}", f"http://{HOST}:{web}", [])
        wait_for(lambda: found.n_workers() == 0, "a master")
        for number in range(2):
            work = str(folder / f"worker-{number}")
            found.workers.append(
                start("worker.Worker", "--cores", "1", "--memory", "1500m", "--webui-port", "0", "--work-dir", work, found.url)
            )
        wait_for(lambda: found.n_workers() == 2, "two workers")
        yield found
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


class Pass(NamedTuple):
    """The log of Spark about the stages of one pass over the rows."""

    n_rows: int  # read from files or from what is cached
    scanned: int  # bytes of these
    shuffled: int  # bytes written to be shuffled
    most_shuffled: int  # the same, of the task that wrote most
    collected: int  # bytes of results sent to the driver
    n_tasks: int

    def __str__(self) -> str:
        return (
            f"{self.n_tasks} tasks, scanned {self.n_rows:,} rows of {self.scanned:,} bytes, shuffled {self.shuffled:,} "
            f"(at most {self.most_shuffled:,} a task), collected {self.collected:,}"
        )


class Meter:
    """Bytes of each pass, by the REST interface of the session: a `progress` of `fastbin.engines.fit`."""

    def __init__(self, spark: Any) -> None:
        context = spark.sparkContext
        self._url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
        self._seen = {stage["stageId"] for stage in self._stages()}
        self.passes: list[Pass] = []

    def __call__(self, n_pass: int, n_rows: int) -> None:
        # The store hears of the end of a stage a little later than the query.
        wait_for(lambda: all(stage["status"] not in ("ACTIVE", "PENDING") for stage in self._stages()), "the end of all stages")
        time.sleep(0.3)
        stages = [stage for stage in self._stages() if stage["stageId"] not in self._seen and stage["status"] == "COMPLETE"]
        self._seen |= {stage["stageId"] for stage in stages}
        written = [self._most_written(stage) for stage in stages if stage["shuffleWriteBytes"]]
        rows, scanned, shuffled, collected, n_tasks = (
            sum(stage[name] for stage in stages)
            for name in ("inputRecords", "inputBytes", "shuffleWriteBytes", "resultSize", "numTasks")
        )
        self.passes.append(Pass(rows, scanned, shuffled, max(written, default=0), collected, n_tasks))

    def _stages(self) -> list[dict[str, Any]]:
        stages = ask(self._url)
        assert stages is not None, f"no answer from {self._url}"
        return stages

    def _most_written(self, stage: dict[str, Any]) -> int:
        tasks = ask(f"{self._url}/{stage['stageId']}/{stage['attemptId']}/taskList?length=100000")
        return max(task["taskMetrics"]["shuffleWriteMetrics"]["bytesWritten"] for task in tasks if task["status"] == "SUCCESS")
