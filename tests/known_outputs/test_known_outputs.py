"""Our solutions compute every number that the five documents print."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.suite import load_module

recipes = load_module(Path(__file__).with_name("recipes.py"), "_known_outputs_recipes")
ENTRIES: dict[str, dict[str, Any]] = recipes.entries()

#: the tolerance of outputs that are computed from numbers printed with four decimals
FROM_PRINTED = 5e-4
#: recipes whose dropout pattern differs between machines; see `_kept_entries`
NEEDS_MKL = {"dropped_ones", "dropped_weights"}
#: versions of PyTorch that draw a different dropout pattern from that in the documents
OTHER_PATTERN = ("2.6.",)


def _cases() -> Iterator[Any]:
    for name, entry in ENTRIES.items():
        if entry["kind"] == "version":
            continue
        yield pytest.param(entry, entry, id=name)
        if "cross_check" in entry:
            yield pytest.param(entry, entry["cross_check"], id=f"{name}-cross-check")


@pytest.mark.parametrize(("entry", "way"), list(_cases()))
def test_printed_output_is_computed_again(entry: dict[str, Any], way: dict[str, Any]) -> None:
    if way["recipe"] in NEEDS_MKL:
        if not torch.backends.mkl.is_available():
            pytest.skip("the seed's dropout pattern is that of a CPU with MKL")
        if torch.__version__.startswith(OTHER_PATTERN):
            pytest.skip(f"PyTorch {torch.__version__} draws another dropout pattern from the seed")
    got = recipes.RECIPES[way["recipe"]](*way.get("arguments", ()))
    if entry["kind"] in ("text", "dict"):
        assert got == entry["values"]
    elif entry["kind"] == "shape":
        assert list(got.shape) == entry["values"]
    else:
        _check_shape(got, entry)
        _check_numbers(_numbers(got), entry, entry["values"], way)


def _check_shape(got: Any, entry: dict[str, Any]) -> None:
    shape = list(got.shape) if isinstance(got, torch.Tensor) else []
    assert shape == entry["shape"]


def _numbers(got: Any) -> Any:
    return got.detach().double().tolist() if isinstance(got, torch.Tensor) else got


def _check_numbers(got: Any, entry: dict[str, Any], printed: Any, way: dict[str, Any]) -> None:
    """Compares each printed number with the computed one, even if the output is cut off."""
    if isinstance(printed, list):
        assert isinstance(got, list)
        assert len(got) == len(printed) or (entry.get("cut_off") and len(got) > len(printed))
        for one, other in zip(got, printed, strict=False):
            _check_numbers(one, entry, other, way)
        return
    wanted = float(printed)  # includes "-inf"
    if math.isinf(wanted):
        assert got == wanted
        return
    assert abs(got - wanted) <= _tolerance(entry, wanted, way)


def _tolerance(entry: dict[str, Any], printed: float, way: dict[str, Any]) -> float:
    """Returns half a unit of the last printed digit, plus a margin for reordered sums."""
    if way is entry and entry["reproduced"] == "from_printed":
        return FROM_PRINTED
    unit = 10.0 ** -entry["decimals"]
    if entry.get("scientific") and printed:
        unit *= 10.0 ** math.floor(math.log10(abs(printed)))
    if entry["decimals"] > 8:  # all digits of a float64
        return 4 * torch.finfo(torch.float64).eps * abs(printed)
    if entry["decimals"] == 0:  # "1." and whole numbers are compared in float32
        return 1e-6
    return 0.51 * unit


@pytest.mark.parametrize("name", [n for n, e in ENTRIES.items() if e["kind"] == "version"])
def test_version_of_a_document_is_a_torch_before_ours(name: str) -> None:
    assert _release(ENTRIES[name]["values"]) <= _release(torch.__version__)


def _release(version: str) -> tuple[int, ...]:
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    assert numbers is not None
    return tuple(int(number) for number in numbers.groups())


def test_no_output_is_lost() -> None:
    assert len(ENTRIES) == 191
    assert Counter(entry["document"] for entry in ENTRIES.values()) == {
        "000": 43,
        "001": 4,
        "002": 93,
        "003": 27,
        "004": 24,
    }
    kinds = {"tensor": 120, "shape": 47, "scalar": 17, "text": 4, "dict": 1, "version": 2}
    assert Counter(entry["kind"] for entry in ENTRIES.values()) == kinds


def test_every_output_has_its_kind_of_reproduction() -> None:
    assert Counter(entry["reproduced"] for entry in ENTRIES.values()) == {
        "exact": 182,
        "from_printed": 5,
        "recovered": 2,
        "version": 2,
    }


def test_results_from_printed_numbers_are_also_computed_exactly() -> None:
    for entry in ENTRIES.values():
        if entry["reproduced"] == "from_printed":
            assert "cross_check" in entry


def test_ids_are_unique_and_say_document_and_line() -> None:
    files = sorted((recipes.HERE / "numbers").glob("*.json"))
    lines = sum(file.read_text(encoding="utf-8").count('"id": ') for file in files)
    assert lines == len(ENTRIES)
    for name, entry in ENTRIES.items():
        assert re.fullmatch(rf"{entry['document']}-L{entry['line']}[a-c]?", name)


def test_no_output_is_compared_with_itself() -> None:
    for name, entry in ENTRIES.items():
        assert name not in entry.get("arguments", ())
        assert name not in entry.get("cross_check", {}).get("arguments", ())


def test_every_recipe_is_used() -> None:
    ways = [entry for entry in ENTRIES.values() if "recipe" in entry]
    ways += [entry["cross_check"] for entry in ways if "cross_check" in entry]
    used = {way["recipe"] for way in ways}
    used |= {argument for way in ways for argument in way.get("arguments", ())}
    assert set(recipes.RECIPES) <= used
