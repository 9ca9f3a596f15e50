"""docs/browser.md in a browser, and docs/batching.md: the configuration is that of the graph."""

from __future__ import annotations

import functools
import http.server
import re
import subprocess
import threading
from pathlib import Path

import pytest
from commands import run_lines
from docs.shell import need
from docs.test_c_service import model_of

import fastbin as fb
from oracle import REPOSITORY


def blocks(page: str, language: str) -> list[str]:
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".mjs": "text/javascript", ".html": "text/html", "": "application/octet-stream"}  # noqa: RUF012

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def test_the_page_shows_the_probability(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("chromium")
    model = model_of(0)
    model.save(tmp_path / "credit.fbm")
    monkeypatch.chdir(tmp_path)
    run_lines(blocks("browser.md", "sh")[0])
    (tmp_path / "index.html").write_text(blocks("browser.md", "html")[0])
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        address = f"http://127.0.0.1:{server.server_address[1]}/index.html"
        shown = subprocess.run(
            [*command, "--virtual-time-budget=5000", "--dump-dom", address],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        server.shutdown()
    (value,) = re.findall(r'<output id="probability">([^<]*)<', shown)
    assert float(value) == model.predict_one(0.98)


def test_the_configuration_of_the_server_is_that_of_the_graph() -> None:
    pytest.importorskip("onnx")
    page = (REPOSITORY / "docs" / "batching.md").read_text(encoding="utf8")
    configuration = page.partition("```\nname: ")[2].partition("```")[0]
    told = re.findall(r'\{ name: "(\w+)", data_type: TYPE_FP64, dims: \[1\]', configuration)
    graph = fb.export.onnx(model_of(0), outputs=("value", "lower", "upper"), alpha=0.1, shape=("n", 1)).graph
    tensors = [*graph.input, *graph.output]
    assert told == [tensor.name for tensor in tensors]
    for tensor in tensors:
        assert tensor.type.tensor_type.elem_type == 11  # a double
        rows, column = tensor.type.tensor_type.shape.dim
        assert rows.dim_param
        assert column.dim_value == 1
