"""Tie keys from ids: one rule, that any system can follow, for ids of any kind."""

from __future__ import annotations

import hashlib
import hmac
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._base import tie_keys
from fastbin._core import fit


def rule(message: bytes, salt: bytes) -> int:
    """As the documentation says it, by RFC 2104 step by step."""
    block = (hashlib.sha256(salt).digest() if len(salt) > 64 else salt).ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    digest = hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()
    return min(int.from_bytes(digest[:8], "big"), 2**64 - 2)


TEXTS = ["17", "", "Zoë", "customer 4711", "-3", "18446744073709551615", "a\0b", "x" * 1000]


@pytest.mark.parametrize("salt", ["s", "sält", "k" * 64, "k" * 65, b"\0\xff"])
def test_the_rule(salt: str | bytes) -> None:
    secret = salt.encode() if isinstance(salt, str) else salt
    expected = [rule(text.encode(), secret) for text in TEXTS]
    keys = fb.hash_keys(TEXTS, salt)
    assert keys.dtype == np.uint64
    assert keys.tolist() == expected
    assert fb.hash_keys([text.encode() for text in TEXTS], secret).tolist() == expected
    assert fb.hash_keys([17, -3, 2**64 - 1], salt=salt).tolist() == [expected[0], expected[4], expected[5]]


def test_a_known_answer() -> None:
    """RFC 4231, test case 2: HMAC-SHA-256 of "what do ya want for nothing?" under "Jefe" begins with 5bdcc146bf60754e."""
    assert fb.hash_keys(["what do ya want for nothing?"], "Jefe").tolist() == [0x5BDCC146BF60754E]


def test_c_has_the_same_keys() -> None:
    """`fastbin_hash_key` beside `hash_keys`, for salts and ids around the block sizes of the hash and far beyond."""
    rng = np.random.default_rng(0)
    assert fit.hash_key(b"Jefe", b"what do ya want for nothing?") == 0x5BDCC146BF60754E
    assert fit.hash_key(b"", b"") == tie_keys.hash_key(b"", b"") == rule(b"", b"")
    for size in range(1, 201):
        salt = rng.bytes(size)
        ids = [rng.bytes(int(length)) for length in [*rng.integers(0, 300, 12), size]]
        expected = [fit.hash_key(salt, one) for one in ids]
        assert fb.hash_keys(ids, salt).tolist() == expected
        assert fb.hash_keys(np.arange(size - 2, size + 3), salt).tolist() == [
            fit.hash_key(salt, str(number).encode()) for number in range(size - 2, size + 3)
        ]


def test_the_reserved_key_is_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hmac, "digest", lambda *_: b"\xff" * 32)
    assert fb.hash_keys(["any"], "s").tolist() == [2**64 - 2]


IDS = [17, -3, 0, 2**40]
NAMES = ["ann", "Zoë", "", "17"]


@pytest.mark.parametrize(
    ("ids", "plain"),
    [
        (np.array(IDS), IDS),
        (np.array(IDS, dtype=">i8"), IDS),
        (np.array([1, 2**64 - 1], np.uint64), [1, 2**64 - 1]),
        (np.array([1, 255], np.uint8), [1, 255]),
        (np.array(IDS)[::2], IDS[::2]),
        (tuple(IDS), IDS),
        (np.array(NAMES), NAMES),
        (np.array(NAMES, dtype=object), NAMES),
        (np.array([b"ann", b"17"]), ["ann", "17"]),
        (np.array([17, "ann", b"x"], dtype=object), ["17", "ann", "x"]),
        (pd.Series(IDS, index=[3, 2, 1, 0]), IDS),
        (pd.Series(IDS, dtype="Int64"), IDS),
        (pd.Series(NAMES), NAMES),
        (pd.Series(NAMES, dtype="category"), NAMES),
        (pd.Series(IDS, dtype="category"), IDS),
        (pd.Index(NAMES), NAMES),
        (pl.Series(NAMES), NAMES),
        (pl.Series(IDS), IDS),
        (pa.array(IDS), IDS),
        (pa.array([1, 2], pa.uint8()), [1, 2]),
        (pa.array(NAMES), NAMES),
        (pa.array(NAMES, pa.large_string()), NAMES),
        (pa.array([b"ann", b"17"], pa.binary()), ["ann", "17"]),
        (pa.array(NAMES).dictionary_encode(), NAMES),
        (pa.chunked_array([NAMES[:1], NAMES[1:]]), NAMES),
        (memoryview(np.array(IDS)), IDS),
        ([], []),
    ],
    ids=lambda value: f"{type(value).__module__}.{type(value).__name__}",
)
def test_ids_of_every_kind(ids: Any, plain: list[Any]) -> None:
    expected = [rule(str(value).encode(), b"s") for value in plain]
    assert fb.hash_keys(ids, "s").tolist() == expected


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (["a", None], fb.InputError, r"ids\[1\] is missing; every row needs an id"),
        (["a", float("nan")], fb.InputError, r"ids\[1\] is missing"),
        (pd.Series(["a", None]), fb.InputError, r"ids\[1\] is missing"),
        (pd.Series([1, None], dtype="Int64"), fb.InputError, r"ids\[1\] is missing"),
        (pa.array([1, 2, None]), fb.InputError, r"ids\[2\] is missing"),
        (np.ma.array([1, 2], mask=[False, True]), fb.InputError, r"ids\[1\] is masked"),
        ([1, 2.0], fb.InputTypeError, r"ids\[1\] is 2.0; ids are integers, text or bytes"),
        (np.array([1.0]), fb.InputTypeError, r"ids\[0\] is 1.0"),
        ([1, True], fb.InputTypeError, r"ids\[1\] is True"),
        (np.array([False]), fb.InputTypeError, r"ids\[0\] is False"),
        (np.array(["2020-01-01"], "M8[D]"), fb.InputTypeError, r"ids\[0\] is datetime"),
        (np.array(["2020-01-01"], "M8[ns]"), fb.InputTypeError, r"ids\[0\] is datetime"),
        (np.array([5], "m8[ns]"), fb.InputTypeError, r"ids\[0\] is datetime"),
        ("customer", fb.InputTypeError, "ids is one str; pass a list"),
        (np.zeros((2, 2), int), fb.InputTypeError, r"ids must be one-dimensional, got shape \(2, 2\)"),
        (5, fb.InputTypeError, r"ids must be one-dimensional, got shape \(\)"),
        (["\udcff"], fb.InputError, r"ids\[0\] is '\\udcff', which is not text"),
    ],
)
def test_what_is_no_id(ids: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fb.hash_keys(ids, "s")


@pytest.mark.parametrize(
    ("salt", "error", "message"),
    [("", fb.InputError, "salt is empty"), (b"", fb.InputError, "salt is empty"), (17, fb.InputTypeError, "salt must be text")],
)
def test_what_is_no_salt(salt: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fb.hash_keys([1], salt)


def test_keys_are_uniform_and_independent_of_the_ids() -> None:
    keys = fb.hash_keys(np.arange(20_000), "s")
    assert len(set(keys.tolist())) == 20_000
    shares = np.bincount((keys >> np.uint64(60)).astype(int), minlength=16) / 20_000
    assert np.abs(shares - 1 / 16).max() < 5 * np.sqrt(1 / 16 * 15 / 16 / 20_000)


def tied_model() -> fb.BinnedModel:
    return fb.BinnedModel.from_parts(
        edges=[0.5], edge_keys=[2**63], values=[0.25, 0.75], counts=[4, 4], label_sums=[1, 3], scheme="explicit",
        ties="random", n_samples=8, n_positive=4,
    )  # fmt: skip


@pytest.mark.parametrize("ids", [np.arange(1000), list(range(1, 17)), np.arange(100, dtype=np.uint32) + 2**31])
def test_small_integers_are_refused_as_keys(ids: Any) -> None:
    """All of them would be below the key of any boundary."""
    model = tied_model()
    at = int(np.argmax(ids))
    refuses(
        f"InputError tie_keys[{at}]: is {max(ids)}, and no other is larger", model.predict, np.full(len(ids), 0.5), tie_keys=ids
    )
    keys = fb.hash_keys(ids, "s")
    served = model.predict(np.full(len(ids), 0.5), tie_keys=keys)
    assert set(served.tolist()) == {0.25, 0.75}


def callers(n: int) -> list[Any]:
    """Every call that takes keys, of n scores that equal an edge."""
    model, scores = tied_model(), np.full(n, 0.5)
    models = fb.ModelSet({"a": model, "b": model})
    cells = np.resize(["a", "b"], n)
    of_one = [partial(call, scores) for call in (model.predict, model.assign, model.step, model.predict_interval)]
    return [*of_one, *(partial(call, scores, cells) for call in (models.predict, models.assign, models.predict_interval))]


@pytest.mark.parametrize("n", [8, 9, 5000])
@pytest.mark.parametrize("container", [np.asarray, pd.Series, pl.Series, lambda keys: np.repeat(keys, 2)[::2]])
def test_keys_are_judged_alike_in_every_container(container: Any, n: int) -> None:
    ids = np.arange(1, n + 1, dtype=np.uint64)
    keys = fb.hash_keys(ids, "s")
    for at in (0, n // 2, n - 1):
        bad = keys.copy()
        bad[at] = 2**64 - 1
        for call in callers(n):
            call(tie_keys=container(keys))
            refuses(f"InputError tie_keys[{at}]: is 2**64 - 1, which is reserved", call, tie_keys=container(bad))
    bad = keys.copy()
    bad[0] = 2**64 - 2  # the greatest
    for call in callers(n):
        call(tie_keys=container(bad))
        call(tie_keys=container(ids * 0))
        refuses(f"InputError tie_keys[{n - 1}]: is {n}, and no other is larger", call, tie_keys=container(ids))


@pytest.mark.parametrize("keys", [[0] * 16, [5, 7, 9], np.array([0, 2**64 - 2] * 8, np.uint64), [*range(16), 2**32]])
def test_few_equal_and_large_keys_pass(keys: Any) -> None:
    assert len(tied_model().predict(np.full(len(keys), 0.5), tie_keys=keys)) == len(keys)


def test_rows_of_a_long_column_are_counted_on() -> None:
    model = fb.UniformMassBinning(2, ties="random").fit([0.5] * 10, [0, 1] * 5).model_
    n = 2**21 + 64  # more than goes to C in one call
    bins = model.assign(np.full(n, 0.5), seed=3)[-64:]
    assert 0 < bins.sum() < 64
    assert bins.tolist() == model.assign(np.full(64, 0.5), tie_keys=fit.row_keys(3, 64, n - 64)).tolist()


def test_the_greatest_key_is_the_one_that_is_not_reserved() -> None:
    assert tie_keys.GREATEST_KEY == 2**64 - 2
