"""Compiled programs as bytes: a header in JSON, which says what they are and how they are called, and then code and arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..hlo import Layout, Shape
from ..hlo.element_type import ELEMENT_TYPES
from .padding import Padding


def packed(header: dict[str, Any], blobs: Sequence[bytes | memoryview]) -> bytes:
    """The header, whose values are JSON's, and the blobs, as `unpacked` returns them.

    >>> header, blobs = unpacked(memoryview(packed({"name": "f"}, [b"code", b""])))
    >>> header["name"], [bytes(blob) for blob in blobs]
    ('f', [b'code', b''])
    """
    text = json.dumps({**header, "sizes": [len(blob) for blob in blobs]}).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *blobs])


def unpacked(data: memoryview) -> tuple[dict[str, Any], Iterator[memoryview]]:
    """The header, and the blobs, which are parts of the data."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8 : 8 + size]))
    return header, _blobs(data[8 + size :], header["sizes"])


def _blobs(data: memoryview, sizes: list[int]) -> Iterator[memoryview]:
    start = 0
    for size in sizes:
        yield data[start : start + size]
        start += size


def interface_data(parameters: Sequence[tuple[str, Shape]], results: Sequence[Shape]) -> dict[str, Any]:
    """How a program is called, in JSON's types."""
    return {
        "parameters": [(name, _shape_data(shape)) for name, shape in parameters],
        "results": [_shape_data(shape) for shape in results],
    }


def parsed_interface(header: dict[str, Any]) -> dict[str, Any]:
    """The ``parameters`` and ``results`` that `interface_data` was given."""
    return {
        "parameters": tuple((name, _shape(*data)) for name, data in header["parameters"]),
        "results": tuple(_shape(*data) for data in header["results"]),
    }


def padding_data(padding: Padding | None) -> dict[str, Any] | None:
    return padding and {**interface_data(padding.parameters, padding.results), "errors": padding.errors}


def parsed_padding(data: dict[str, Any] | None) -> Padding | None:
    return data and Padding(**parsed_interface(data), errors=pairs(data["errors"]))


def pairs(values: list[list[Any]]) -> tuple[tuple[Any, Any], ...]:
    return tuple((first, second) for first, second in values)


def _shape_data(shape: Shape) -> tuple[Any, ...]:
    """The shape in JSON's types; of its layout the order alone, which is what an array in memory has of it."""
    order = None if shape.layout is None else shape.layout.minor_to_major
    return shape.element_type.name, shape.dimensions, order, shape.dynamic_dimensions


def _shape(element_type: str, dimensions: list[int], order: list[int] | None, dynamic_dimensions: list[bool]) -> Shape:
    layout = None if order is None else Layout(tuple(order))
    return Shape(ELEMENT_TYPES[element_type], tuple(dimensions), layout, tuple(dynamic_dimensions))
