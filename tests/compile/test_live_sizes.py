"""Which loop nests of a padded program are known to stop at a size, and at which."""

from phlox.compile.carried_sizes import annotation_of_sizes, annotations_with_fewer, carried_sizes, sizes_behind
from phlox.compile.live_sizes import live_sizes
from phlox.compile.loop_simplification import simplify_loops
from phlox.compile.scalars_first import scalars_first
from phlox.hlo import F64, Shape, parse_module

RESULT = Shape(F64, (1000,), dynamic_dimensions=(True,))


def limits(entry, results=(RESULT,), others=""):
    """By the name of each loop nest, the names of the sizes at which its dimensions stop."""
    computation = scalars_first(parse_module(f"HloModule m\n{others}\nENTRY e {{\n{entry}\n}}").entry)
    found = live_sizes(computation, sizes_behind(results))
    return {nest.name: {d: limit.size.name for d, limit in sizes.items()} for nest, sizes in found.items()}


def test_results_are_needed_in_front_of_their_sizes():
    found = limits("""
      x = f64[1000] parameter(0)
      n = s32[] parameter(1)
      a = f64[1000] exponential(x)
      b = f64[1000] add(a, x)
      e = s32[] constant(0)
      ROOT r = (f64[1000], s32[], s32[]) tuple(b, n, e)
    """)
    assert found == {"a": {0: "n"}, "b": {0: "n"}}


def test_what_another_needs_wholly_is_computed_wholly():
    found = limits("""
      x = f64[1000] parameter(0)
      n = s32[] parameter(1)
      a = f64[1000] exponential(x)
      b = f64[1000] add(a, x)
      c = f64[1000] reverse(a), dimensions={0}
      d = f64[1000] add(b, c)
      e = s32[] constant(0)
      ROOT r = (f64[1000], s32[], s32[]) tuple(d, n, e)
    """)
    assert found == {"b": {0: "n"}, "d": {0: "n"}}


LOOP = """
body {
  s = (f64[1000], s32[], f64[1000]) parameter(0)
  x = f64[1000] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  y = f64[1000] get-tuple-element(s), index=2
  a = f64[1000] exponential(x)
  b = f64[1000] sine(y)
  one = s32[] constant(1)
  m = s32[] subtract(n, one)
  ROOT r = (f64[1000], s32[], f64[1000]) tuple(a, m, b)
}
condition {
  s = (f64[1000], s32[], f64[1000]) parameter(0)
  n = s32[] get-tuple-element(s), index=1
  zero = s32[] constant(0)
  ROOT c = pred[] compare(n, zero), direction=GT
}
"""
CALLED = """
  x = f64[1000] parameter(0)
  n = s32[] parameter(1)
  a = f64[1000] cosine(x)
  b = f64[1000] tanh(x)
  t = (f64[1000], s32[], f64[1000]) tuple(a, n, b)
  w = (f64[1000], s32[], f64[1000]) while(t), condition=condition, body=body, frontend_attributes={sizes_of_state="0:0:1"}
  ROOT y = f64[1000] get-tuple-element(w), index=0
"""


def test_what_loops_carry_is_needed_in_front_of_sizes_that_they_carry():
    assert limits(CALLED, (), LOOP) == {"a": {0: "n"}}
    module = parse_module(f"HloModule m\n{LOOP}\nENTRY e {{\n{CALLED}\n}}")
    (loop,) = [one for one in module.entry.instructions if one.opcode == "while"]
    found = live_sizes(scalars_first(loop.attributes["body"]), carried_sizes(loop))
    assert {nest.name: {d: limit.size.name for d, limit in sizes.items()} for nest, sizes in found.items()} == {"a": {0: "m"}}


def test_sizes_of_what_a_loop_no_longer_carries_are_forgotten():
    simplified = simplify_loops(parse_module(f"HloModule m\n{LOOP}\nENTRY e {{\n{CALLED}\n}}"))
    (loop,) = [one for one in simplified.entry.instructions if one.opcode == "while"]
    assert len(loop.shape.elements) == 2 and carried_sizes(loop) == {0: {0: 1}}
    assert annotations_with_fewer(loop, {0: 1, 1: 0}) == annotation_of_sizes({1: {0: 0}})
    assert not annotations_with_fewer(loop, {0: 0})


def test_sizes_that_come_later_are_moved_in_front():
    found = limits("""
      x = f64[1000] parameter(0)
      n = s64[] parameter(1)
      a = f64[1000] exponential(x)
      least = s64[] constant(0)
      most = s64[] constant(1000)
      m = s64[] add(n, n)
      size = s64[] clamp(least, m, most)
      given = s32[] convert(size)
      ROOT r = (f64[1000], s32[], s32[]) tuple(a, given, given)
    """)
    assert found == {"a": {0: "given"}}


def test_masks_say_how_far_a_reduction_goes():
    entry = """
      x = f64[1000] parameter(0)
      n = s32[] parameter(1)
      a = f64[1000] exponential(x)
      ROOT s = f64[] fusion(a, n), kind=kInput, calls=sum
    """
    sum_of = """
    add {{
      p = f64[] parameter(0)
      q = f64[] parameter(1)
      ROOT r = f64[] add(p, q)
    }}
    sum {{
      a = f64[1000] parameter(0)
      n = s32[] parameter(1)
      places = s32[1000] iota(), iota_dimension=0
      bounds = s32[1000] broadcast(n), dimensions={{}}
      inside = pred[1000] compare(places, bounds), direction=LT
      fill = f64[] constant({fill})
      fills = f64[1000] broadcast(fill), dimensions={{}}
      masked = f64[1000] select(inside, a, fills)
      zero = f64[] constant(0)
      ROOT s = f64[] reduce(masked, zero), dimensions={{0}}, to_apply=add
    }}
    """
    assert limits(entry, (), sum_of.format(fill=0)) == {"a": {0: "n"}, "s": {0: "n"}}
    # What is behind the size counts.
    assert limits(entry, (), sum_of.format(fill=1)) == {"a": {0: "n"}}


def test_a_lower_bound_is_a_part_of_the_size():
    """`max(n, 5)` is not n."""
    found = limits("""
      x = f64[1000] parameter(0)
      n = s32[] parameter(1)
      five = s32[] constant(5)
      size = s32[] maximum(n, five)
      a = f64[1000] exponential(x)
      ROOT r = (f64[1000], s32[], s32[]) tuple(a, size, five)
    """)
    assert found == {"a": {0: "size"}}


def test_scalars_come_with_their_constants():
    module = parse_module("""HloModule m
    ENTRY e {
      n = s32[] parameter(0)
      x = f64[3] parameter(1)
      y = f64[3] negate(x)
      one = s32[] constant(1)
      m = s32[] add(n, one)
      ROOT r = (f64[3], s32[]) tuple(y, m)
    }""")
    assert [one.name for one in scalars_first(module.entry).instructions] == ["n", "one", "m", "x", "y", "r"]


GATHERED = """
      x = f64[1000,1000] parameter(0)
      n = s32[] parameter(1)
      a = f64[1000,1000] exponential(x)
      places = s32[1000] iota(), iota_dimension=0
      sizes = s32[1000] broadcast(n), dimensions={{}}
      inside = pred[1000] compare(places, sizes), direction=LT
      wide = s64[1000] convert(places)
      fill = s64[] constant({fill})
      fills = s64[1000] broadcast(fill), dimensions={{}}
      masked = s64[1000] select({mask}, wide, fills)
      starts = s64[1000,1] reshape(masked)
      pairs = s64[1000,2] concatenate(starts, starts), dimensions={{1}}
      diagonal = f64[1000] gather(a, pairs), offset_dims={{}}, collapsed_slice_dims={{0,1}}, start_index_map={{0,1}},
        index_vector_dim=1, slice_sizes={{1,1}}
      e = s32[] constant(0)
      ROOT r = (f64[1000], s32[], s32[]) tuple(diagonal, n, e)
"""


def test_what_is_gathered_is_needed_as_far_as_the_indices_count():
    found = limits(GATHERED.format(fill=0, mask="inside"))
    assert found["a"] == {0: "n", 1: "n"}


def test_what_is_gathered_by_other_indices_is_needed_wholly():
    assert "a" not in limits(
        GATHERED.format(fill=0, mask="flags").replace("n = s32[]", "flags = pred[1000] parameter(2)\n n = s32[]")
    )


def test_rows_that_are_gathered_are_needed_as_far_as_the_results():
    found = limits(
        """
      x = f64[1000,1000] parameter(0)
      i = s64[1000,1] parameter(1)
      n = s32[] parameter(2)
      a = f64[1000,1000] exponential(x)
      rows = f64[1000,1000] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
        index_vector_dim=1, slice_sizes={1,1000}
      e = s32[] constant(0)
      ROOT r = (f64[1000,1000], s32[], s32[]) tuple(rows, n, e)
    """,
        (Shape(F64, (1000, 1000), dynamic_dimensions=(False, True)),),
    )
    assert found["a"] == {1: "n"}


SORTED = """
      x = f64[1000] parameter(0)
      n = s32[] parameter(1)
      places = s32[1000] iota(), iota_dimension=0
      sizes = s32[1000] broadcast(n), dimensions={{}}
      inside = pred[1000] compare(places, sizes), direction=LT
      fill = f64[] constant({fill})
      fills = f64[1000] broadcast(fill), dimensions={{}}
      a = f64[1000] exponential(x)
      masked = f64[1000] select(inside, a, fills)
      s = f64[1000] sort(masked), dimensions={{0}}, to_apply=less
      r = f64[1000] {last}(s){more}
      e = s32[] constant(0)
      ROOT t = (f64[1000], s32[], s32[]) tuple(r, n, e)
"""
LESS = """less {
      a = f64[] parameter(0)
      b = f64[] parameter(1)
      below = pred[] compare(a, b), direction=LT
      is_nan = pred[] compare(b, b), direction=NE
      is_none = pred[] compare(a, a), direction=EQ
      both = pred[] and(is_nan, is_none)
      ROOT z = pred[] or(below, both)
    }"""


def test_a_sort_stops_where_what_follows_comes_last():
    found = limits(SORTED.format(fill="nan", last="negate", more=""), others=LESS)
    assert found["s"] == found["a"] == {0: "n"}


def test_a_sort_whose_last_elements_are_needed_keeps_them():
    entry = SORTED.format(fill="nan", last="reverse", more=", dimensions={0}")
    computation = scalars_first(parse_module(f"HloModule m\n{LESS}\nENTRY e {{\n{entry}\n}}").entry)
    found = {nest.name: sizes for nest, sizes in live_sizes(computation, sizes_behind((RESULT,))).items()}
    assert found["s"][0].keeps_rest and "masked" not in found


def test_a_sort_in_which_others_come_last_is_one_of_all():
    assert "s" not in limits(SORTED.format(fill="inf", last="negate", more=""), others=LESS)


RUNNING = """
sum {
  a = f64[] parameter(0)
  carry = f64[] parameter(1)
  s = f64[] add(carry, a)
  ROOT r = (f64[], f64[]) tuple(s, s)
}
"""


def scanned(results, *others, is_reverse="false"):
    return limits(
        f"""
      x = f64[1000] parameter(0)
      n = s32[] parameter(1)
      y = f64[1000] exponential(x)
      z = f64[] constant(0)
      s = (f64[1000], f64[]) scan(y, z), dimensions={{0}}, num_carries=1, is_reverse={is_reverse}, to_apply=sum
      a = f64[1000] get-tuple-element(s), index=0
      {" ".join(others)}
      e = s32[] constant(0)
      ROOT r = {results}
    """,
        others=RUNNING,
    )


def test_scans_stop_where_their_results_do():
    assert scanned("(f64[1000], s32[], s32[]) tuple(a, n, e)") == {"y": {0: "n"}, "s": {0: "n"}}
    found = scanned("(f64[1000], s32[], s32[]) tuple(b, n, e)", "b = f64[1000] negate(a)")
    assert found == {"y": {0: "n"}, "s": {0: "n"}, "b": {0: "n"}}


def test_scans_go_on_where_more_is_needed():
    assert scanned("(f64[1000], s32[], s32[]) tuple(a, n, e)", is_reverse="true") == {}
    last = "c = f64[] get-tuple-element(s), index=1"
    assert scanned("(f64[1000], s32[], f64[]) tuple(a, n, c)", last) == {}
    assert scanned("(f64[1000], s32[], f64[1]) tuple(a, n, l)", "l = f64[1] slice(a), slice={[999:1000]}") == {}


def test_what_goes_into_a_branch_is_needed_as_far_as_the_branch_does():
    branches = """
    first {
      s = (f64[1000], s32[], f64[1000]) parameter(0)
      x = f64[1000] get-tuple-element(s), index=0
      n = s32[] get-tuple-element(s), index=1
      y = f64[1000] get-tuple-element(s), index=2
      i = s32[1000] iota(), iota_dimension=0
      b = s32[1000] broadcast(n), dimensions={}
      m = pred[1000] compare(i, b), direction=LT
      z = f64[] constant(0)
      zeros = f64[1000] broadcast(z), dimensions={}
      masked = f64[1000] select(m, x, zeros)
      ROOT sum = f64[1000] add(masked, y)
    }
    second {
      s = (f64[1000], s32[], f64[1000]) parameter(0)
      ROOT x = f64[1000] get-tuple-element(s), index=0
    }
    """
    program = """
      x = f64[1000] parameter(0)
      n = s32[] parameter(1)
      p = pred[] parameter(2)
      a = f64[1000] exponential(x)
      c = f64[1000] sine(x)
      t = (f64[1000], s32[], f64[1000]) tuple(a, n, c)
      u = (f64[1000], s32[], f64[1000]) tuple(%s, n, c)
      ROOT r = f64[1000] conditional(p, t, u), true_computation=first, false_computation=%s
    """
    assert limits(program % ("x", "second"), (), branches) == {"a": {0: "n"}}
    assert limits(program % ("a", "second"), (), branches) == {}
    assert limits(program % ("a", "first"), (), branches) == {"a": {0: "n"}}


WINDOW = """
  x = f64[1000] parameter(0)
  n = s32[] parameter(1)
  i = s32[1000] iota(), iota_dimension=0
  b = s32[1000] broadcast(n), dimensions={{}}
  m = pred[1000] compare(i, b), direction=LT
  e = f64[1000] negate(x)
  fill = f64[] constant({fill})
  f = f64[1000] broadcast(fill), dimensions={{}}
  masked = f64[1000] select(m, e, f)
  {few}
"""
TOP = "k = (f64[4], s32[4]) topk(masked), k=4, largest=false\n  ROOT r = f64[4] get-tuple-element(k), index=0"


def test_a_few_of_the_first_are_among_those_in_front_of_the_size_and_as_many_as_these():
    entry = WINDOW.format(fill="nan", few=TOP)
    computation = scalars_first(parse_module(f"HloModule m\nENTRY w {{\n{entry}\n}}").entry)
    found = {nest.name: sizes[0] for nest, sizes in live_sizes(computation).items()}
    assert {(found[name].size.name, found[name].least) for name in ("k", "masked")} == {("n", 4)}


def test_a_few_of_the_first_are_among_all_where_others_come_last():
    assert "k" not in limits(WINDOW.format(fill="inf", few=TOP), ())


def test_of_what_is_sorted_and_the_first_is_taken_no_others_are_kept():
    few = "s = f64[1000] sort(masked), dimensions={0}, to_apply=less\n  ROOT r = f64[2] slice(s), slice={[0:2]}"
    computation = parse_module(f"HloModule m\n{LESS}\nENTRY w {{\n{WINDOW.format(fill='nan', few=few)}\n}}").entry
    found = {nest.name: sizes[0] for nest, sizes in live_sizes(scalars_first(computation)).items()}
    assert not found["s"].keeps_rest and found["s"].least == found["masked"].least == 2
