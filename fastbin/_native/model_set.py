"""The owner of a set of models and its scoring calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._cells import Cells, Key, TextCells, as_cells, check_key
from fastbin._errors import InputError
from fastbin._scalars import check_seed
from fastbin._validation import as_key_array, as_scores, check_same_length


class NativeModelSet:
    """A set of models. `_fill` sets it up once; after that it is immutable."""

    def _fill(
        self, models: list[Any], keys: Any, model_of_key: Any = None, *, kind: int = 0, unknown: int = 0, pool: int = -1,
        columns: Any = None,
    ) -> None:  # fmt: skip
        self._models = list(models)
        self._keys_given = keys
        self._model_of_key = (
            np.arange(len(keys), dtype=np.int32) if model_of_key is None else np.asarray(model_of_key, np.int32)
        )
        self._codes = (kind, int(isinstance(keys, list)), unknown)
        self._pool, self._columns = pool, None if columns is None else np.asarray(columns, np.int32)
        plain = keys if isinstance(keys, list) else keys.tolist()
        self._numbers = dict(zip(plain, self._model_of_key.tolist(), strict=True))

    @classmethod
    def _read(cls, data: Any) -> Any:
        import pickle

        models, arguments = pickle.loads(bytes(data))
        made = cls.__new__(cls)
        from fastbin.model import BinnedModel

        made._fill([BinnedModel.from_bytes(one) for one in models], **arguments)
        return made

    def to_bytes(self) -> bytes:
        import pickle

        kind, _, unknown = self._codes
        arguments = {
            "keys": self._keys_given, "model_of_key": self._model_of_key, "kind": kind, "unknown": unknown, "pool": self._pool,
            "columns": self._columns,
        }  # fmt: skip
        return pickle.dumps(([model.to_bytes() for model in self._models], arguments))

    @property
    def n_models(self) -> int:
        return len(self._models)

    def _model(self, number: int, model_class: Any) -> Any:
        return self._models[number]

    @property
    def _int_keys(self) -> Any:
        return None if self._codes[1] else self._keys_given

    @property
    def _text_keys(self) -> Any:
        return self._keys_given if self._codes[1] else None

    def _find_one(self, cell: Any) -> int:
        return self._numbers.get(check_key(cell), -1)

    def _find(self, cells: Any) -> Any:
        known: Cells = as_cells(cells)
        if isinstance(known, TextCells):
            return np.array([self._numbers.get(text, -1) for text in known.texts] + [-1], np.int32)[known.codes]
        return np.array([self._numbers.get(key, -1) for key in known.tolist()], np.int32)

    def _refuse_unknown(self, numbers: Any, cells: Any) -> None:
        if self._codes[2] == 0 and (numbers < 0).any():
            at = int(np.argmax(numbers < 0))
            listed = cells.tolist() if hasattr(cells, "tolist") else list(cells)
            raise InputError(
                f"cells[{at}] is {listed[at]!r}, which is none of the {len(self._numbers)} keys of this set; score such rows "
                "by another model, or make the set with unknown='pool'"
            )

    def predict_one(self, score: Any, cell: Key, key: Any = None) -> float:
        number = self._find_one(cell)
        if number < 0 and self._codes[2] == 0:
            raise InputError(
                f"cell is {cell!r}, which is none of the {len(self._numbers)} keys of this set; score such rows by another "
                "model, or make the set with unknown='pool'"
            )
        return float(self._models[number].predict_one(score, key))

    def _score(self, what: str, numbers: Any, scores: Any, keys: Any, seed: Any, out: Any, nan: str) -> Any:
        scores = as_scores(scores)
        check_same_length(scores=scores, cells=numbers)
        if keys is None and seed is None:
            seed = 0
        given = None if keys is None else as_key_array(keys, len(scores))
        result = out if out is not None else np.empty(len(scores), np.float64 if what == "predict" else np.int32)
        from fastbin._native.ties import row_keys

        every = row_keys(check_seed(seed), len(scores)) if given is None else given
        for number in np.unique(numbers).tolist():
            rows = numbers == number
            if number < 0 and what == "assign":
                result[rows] = -1
                continue
            model = self._models[self._pool if number < 0 else number]
            result[rows] = getattr(model, what)(scores[rows], keys=every[rows], nan=nan)
        return result

    def _predict(self, numbers: Any, scores: Any, keys: Any, seed: Any, out: Any, nan: str) -> Any:
        return self._score("predict", numbers, scores, keys, seed, out, nan)

    def _assign(self, numbers: Any, scores: Any, keys: Any, seed: Any, nan: str) -> Any:
        return self._score("assign", numbers, scores, keys, seed, None, nan)
