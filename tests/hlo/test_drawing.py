"""Drawings of modules: well-formed, complete, and without boxes on top of one another."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from phlox.hlo.drawing import module_svg
from phlox.hlo.text.parser import parse_module

LOOP = """
HloModule loop

body {
  state = (s32[], f32[4,3]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[4,3] get-tuple-element(state), index=1
  half = f32[] constant(0.5)
  halves = f32[4,3] broadcast(half), dimensions={}
  y = f32[4,3] multiply(x, halves)
  ROOT result = (s32[], f32[4,3]) tuple(next, y)
}

condition {
  state = (s32[], f32[4,3]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  ten = s32[] constant(10)
  ROOT below = pred[] compare(i, ten), direction=LT
}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[4,3] parameter(0)
  y = f32[4,3] parameter(1)
  e = f32[4,3] exponential(x)
  l = f32[4,3] log(e)
  m = f32[4,3] add(l, x)
  zero = s32[] constant(0)
  init = (s32[], f32[4,3]) tuple(zero, m)
  loop = (s32[], f32[4,3]) while(init), condition=condition, body=body
  z = f32[4,3] get-tuple-element(loop), index=1
  d = f32[4,3] add(z, y)
  start = f32[] constant(0)
  ROOT total = f32[4] reduce(d, start), dimensions={1}, to_apply=add
}
"""


@pytest.fixture(scope="module")
def svg():
    return ElementTree.fromstring(module_svg(parse_module(LOOP)))


def tags(element, name):
    return list(element.iter("{http://www.w3.org/2000/svg}" + name))


def panels(svg):
    return [child for child in svg if child.tag.endswith("}g")]


def test_every_instruction_has_a_box(svg):
    """Panels: main, condition, body; no box for scalar constants, their broadcasts, and the one-operation add."""
    counts = {tags(panel, "text")[0].text: len(tags(panel, "rect")) for panel in panels(svg)}
    assert counts == {"main": 10, "body": 6, "condition": 3}
    text = [element.text for element in tags(svg, "text")]
    assert "multiply(., 0.5)" in text and "to_apply=add" in text and "condition=%condition" in text and "f32[4]" in text


def test_boxes_do_not_overlap_and_operands_stand_above(svg):
    width = float(svg.get("width"))
    for panel in panels(svg):
        boxes = [tuple(float(rect.get(side)) for side in ("x", "y", "width", "height")) for rect in tags(panel, "rect")]
        for number, (x, y, w, h) in enumerate(boxes):
            assert x >= 0 and x + w <= width
            for u, v, s, t in boxes[:number]:
                assert x + w <= u or u + s <= x or y + h <= v or v + t <= y
        for path in tags(panel, "path"):
            (start,) = re.findall(r"^M[-\d.]+,([\d.]+)", path.get("d"))
            heights = [float(y) for y in re.findall(r",([\d.]+)", path.get("d"))]
            assert heights == sorted(heights) and heights[0] == float(start)


def test_names_are_escaped():
    """A shape of dynamic size and attribute text hold characters that XML gives a meaning."""
    ElementTree.fromstring(module_svg(parse_module("ENTRY main { ROOT x = f32[<=10] parameter(0) }")))


def test_no_operands_at_all():
    drawn = ElementTree.fromstring(module_svg(parse_module("ENTRY main { ROOT x = f32[3] constant({1, 2, 3}) }")))
    assert len(tags(drawn, "rect")) == 2  # the background and the box
