"""A service in FastAPI. Its model is exchanged while requests run: put a new file in the place of the old one.

FASTBIN_MODEL=credit.fbm uvicorn --app-dir examples service:app
"""

import logging
import os

from fastapi import FastAPI, HTTPException

import fastbin as fb

PATH = os.environ.get("FASTBIN_MODEL", "credit.fbm")
app = FastAPI()
log = logging.getLogger("uvicorn.error")
loaded = (None, None)  # a file and its model, exchanged by one assignment: a request sees both of one file


def file_there():
    try:
        status = os.stat(PATH)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def current_model():
    global loaded
    file, model = file_there(), loaded[1]
    if model is None or file != loaded[0]:
        try:
            model = fb.BinnedModel.load(PATH)
            log.info("%s: fingerprint %016x, event %r", PATH, model.fingerprint, model.event)
        except (OSError, fb.FormatError) as error:
            if model is None:
                raise
            log.exception("%s cannot be read; the one before serves on", PATH)
            if file is not None and isinstance(error, OSError):
                return model  # it could not be opened, so the next request tries again
        loaded = (file, model)
    return model


@app.get("/probability")
async def probability(score: float):
    try:
        return {"probability": current_model().predict_one(score)}
    except fb.InputError as error:  # NaN, or out of range
        raise HTTPException(422, str(error)) from None
