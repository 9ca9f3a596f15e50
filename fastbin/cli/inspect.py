"""``fastbin inspect``: what a model file holds, and what it promises."""

from __future__ import annotations

import click

from fastbin.cli._options import alpha_option, examples, json_option

__all__ = ["command"]


@click.command(
    epilog=examples("fastbin inspect credit.fbm", "fastbin inspect credit.fbm --alpha 0.05 --json | jq .certificate")
)
@click.argument("model", type=click.Path())
@alpha_option
@json_option
def command(model: str, alpha: float, as_json: bool) -> None:
    """Show a MODEL ("-": from standard input): its bins with intervals, and its certificate.

    The intervals hold for all bins at once with probability 1 - alpha. Where the method has no finite-sample guarantee, the
    reason is told instead.
    """
    from fastbin.cli import _model_view
    from fastbin.cli._console import console, say
    from fastbin.cli._streams import load_model, told_name

    loaded = load_model(model)
    if as_json:
        import json

        say(json.dumps({"path": model, **_model_view.as_json(loaded, alpha)}, indent=2, allow_nan=False))
        return
    console().print(f"{told_name(model)}: {_model_view.summary(loaded)}.")
    _model_view.show(loaded, alpha)
