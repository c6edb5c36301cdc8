"""Vector instructions: their operands in all encodings."""

from __future__ import annotations

import numpy as np

from .floats import fma
from .instructions import FIRST_VGPR, Instruction, is_rdna
from .lanes import OF_LANES, with_lanes_exchanged
from .operands import reader, type_of, write_vector
from .vector_operations import (
    COMPARISONS,
    OPERATIONS,
    READS_DESTINATION,
    READS_MASK,
    WRITES_MASK,
)
from .waves import EXEC, VCC

_SOURCES = (("src0", "vsrc0"), ("src1", "vsrc1"), ("src2",))


def vector_step(instruction: Instruction, architecture: str):
    """A function that runs the instruction for waves."""
    special = OF_LANES.get(instruction.name)
    if special is not None:
        return special(instruction, architecture)
    if instruction.form == "VOPD":
        return _both(instruction, architecture)
    if instruction.form == "VOP3P":
        return _packed(instruction, architecture)
    step = _ordinary(instruction, architecture)
    if instruction.variant in ("DPP16", "DPP8"):
        return with_lanes_exchanged(instruction, step)
    return step


def _source_names(instruction):
    found = []
    for names in _SOURCES:
        name = next((name for name in names if name in instruction.formats), None)
        if name is not None:
            found.append(name)
    return found


def _ordinary(instruction, architecture):
    name = instruction.name
    names = _source_names(instruction)
    dtypes = [type_of(instruction.formats[one], instruction.widths[one]) for one in names]
    is_select = name in READS_MASK
    mask = None
    if is_select:
        if len(names) == 3 and "DIV_FMAS" not in name:
            names.pop(), dtypes.pop()
            mask = instruction.src2
        else:
            mask = VCC
    sources = [_source(instruction, number, one, dtype, architecture) for number, (one, dtype) in enumerate(zip(names, dtypes))]
    if name in COMPARISONS:
        return _comparison(instruction, COMPARISONS[name], sources, architecture)
    function = _find(name)
    dtype = type_of(instruction.formats["vdst"], instruction.widths["vdst"])
    at, half = _destination(instruction, dtype, architecture)
    if "literal" in instruction.fields and name.split("_")[1] in ("FMAMK", "MADMK"):
        sources.insert(1, reader(255, dtype, instruction.literal))
    elif "literal" in instruction.fields and name.split("_")[1] in ("FMAAK", "MADAK"):
        sources.append(reader(255, dtype, instruction.literal))
    if name in READS_DESTINATION:
        sources.append(reader(at + FIRST_VGPR, dtype, is_high=half == "high"))
    function = _with_output_modifiers(instruction, function, dtype)
    write = _sdwa_write(instruction, at) if instruction.variant == "SDWA" else write_vector(at, dtype, half)
    if name in WRITES_MASK:
        masked = instruction.get("sdst", VCC) if instruction.form == "VOP3SD" else VCC
        return _with_mask_result(function, sources, mask, write, masked)
    if mask is not None:
        return lambda waves: write(waves, function(*[source(waves) for source in sources], waves.mask(mask)))
    if len(sources) == 1:
        (only,) = sources
        return lambda waves: write(waves, function(only(waves)))
    if len(sources) == 2:
        first, second = sources
        return lambda waves: write(waves, function(first(waves), second(waves)))
    return lambda waves: write(waves, function(*[source(waves) for source in sources]))


def _find(name):
    try:
        return OPERATIONS[name]
    except KeyError:
        raise NotImplementedError(f"the instruction {name}") from None


def _with_mask_result(function, sources, mask, write, masked):
    def step(waves):
        given = [source(waves) for source in sources]
        if mask is not None:
            given.append(waves.mask(mask))
        result, bits = function(*given)
        bits = bits & waves.active_lanes()
        write(waves, result)
        waves.set_mask(masked, bits)

    return step


def _source(instruction, number, name, dtype, architecture):
    """A reader of a source, with what the encoding says of it."""
    # The tables of operands have the name that the register has in the form with lanes exchanged.
    code, is_high = instruction.fields[name if name in instruction.fields else name.removeprefix("v")], False
    literal = instruction.fields.get("literal")
    if instruction.variant == "SDWA":
        return _sdwa_source(instruction, number, code, dtype)
    if instruction.variant in ("DPP16", "DPP8") and number == 0:
        code = instruction.vsrc0
    if dtype.itemsize == 2:
        if "opsel" in instruction.fields:
            is_high = bool(instruction.opsel >> number & 1)
        elif is_rdna(architecture) and code >= FIRST_VGPR + 128:
            code, is_high = code - 128, True
    read = reader(code, dtype, literal, is_high)
    negative, absolute = instruction.get("neg") >> number & 1, instruction.get("abs") >> number & 1
    negative |= instruction.get(f"src{number}_neg")
    absolute |= instruction.get(f"src{number}_abs")
    return _signed(read, dtype, negative, absolute)


def _signed(read, dtype, negative, absolute):
    if not negative and not absolute:
        return read
    bits = np.dtype(f"u{dtype.itemsize}")
    sign = bits.type(1 << 8 * dtype.itemsize - 1)

    def modified(waves):
        value = read(waves).view(bits)
        if absolute:
            value = value & ~sign
        return (value ^ sign if negative else value).view(dtype)

    return modified


def _destination(instruction, dtype, architecture):
    at = instruction.vdst - FIRST_VGPR if instruction.vdst >= FIRST_VGPR else instruction.vdst
    if instruction.get("acc_cd"):
        at += 256
    half = "low" if is_rdna(architecture) else "zero"
    if dtype.itemsize == 2:
        if "opsel" in instruction.fields:
            half = "high" if instruction.opsel & 8 else half
        elif is_rdna(architecture) and at >= 128:
            at, half = at - 128, "high"
    return at, half


def _with_output_modifiers(instruction, function, dtype):
    factor = {0: None, 1: 2, 2: 4, 3: 0.5}[instruction.get("omod")]
    is_clamped = instruction.get("clmp")
    if factor is None and not is_clamped:
        return function

    def floats(*given):
        value = function(*given)
        if factor is not None:
            value = value * dtype.type(factor)
        if is_clamped:
            value = np.where(np.isnan(value), 0, np.clip(value, 0, 1)).astype(dtype)
        return value

    def integers(*given):
        info = np.iinfo(dtype)
        wide = function(*[one.astype(np.int64) for one in given])
        return np.clip(wide, info.min, info.max).astype(dtype)

    if dtype.kind == "f":
        return floats
    if instruction.name.split("_")[1] not in ("ADD", "SUB", "SUBREV") or instruction.name in WRITES_MASK:
        raise NotImplementedError(f"{instruction.name} with clamp")
    return integers


def _comparison(instruction, function, sources, architecture):
    is_exec = "_CMPX_" in instruction.name
    to = VCC
    if instruction.form == "VOP3":
        to = instruction.vdst - FIRST_VGPR if instruction.vdst >= FIRST_VGPR else instruction.vdst
    elif instruction.variant == "SDWA" and instruction.sd:
        to = instruction.sdst
    writes_result = not (is_exec and is_rdna(architecture))
    first, second = sources

    def step(waves):
        found = function(first(waves), second(waves))
        active = waves.active()
        if active is not True:
            found = found & active
        if writes_result:
            waves.set_mask(to, found)
        if is_exec:
            waves.set_mask(EXEC, found)

    return step


# --- parts of registers: SDWA ---

_BYTE_FIELDS = {0: (0, 8), 1: (8, 8), 2: (16, 8), 3: (24, 8), 4: (0, 16), 5: (16, 16), 6: (0, 32)}


def _sdwa_source(instruction, number, code, dtype):
    if number == 0:
        code = instruction.vsrc0
    if instruction.get(f"s{number}"):
        code -= FIRST_VGPR
    shift, width = _BYTE_FIELDS[instruction.get(f"src{number}_sel")]
    is_signed = instruction.get(f"src{number}_sext")
    read = reader(code, np.dtype(np.uint32))
    keep = np.uint32((1 << width) - 1)
    sign = np.uint32(1 << width - 1)

    def selected(waves):
        value = read(waves) >> np.uint32(shift) & keep
        if is_signed:
            value = (value ^ sign) - sign
        if dtype.itemsize == 2:
            return value.astype(np.uint16).view(dtype)
        return value.view(dtype)

    return _signed(selected, dtype, instruction.get(f"src{number}_neg"), instruction.get(f"src{number}_abs"))


def _sdwa_write(instruction, at):
    shift, width = _BYTE_FIELDS[instruction.dst_sel]
    unused = instruction.dst_unused
    keep = np.uint32((1 << width) - 1)

    def write(waves, value):
        bits = value.view(f"u{value.dtype.itemsize}").astype(np.uint32) & keep
        if unused == 1:
            sign = np.uint32(1 << width - 1)
            bits = (bits ^ sign) - sign
        bits = bits << np.uint32(shift)
        if unused == 2:
            bits = bits | waves.vector[at] & ~np.uint32((int(keep) << shift) & 0xFFFFFFFF)
        waves.set_vector(at, bits)

    return write


# --- two instructions at once ---


def _both(instruction, architecture):
    steps = []
    for letter, name in zip("xy", instruction.name.split()):
        name = name.replace("V_DUAL_", "V_")
        kind = name.rsplit("_", 1)[1]
        fields = {"src0": instruction.fields[f"src{letter}0"], "vdst": instruction.fields[f"vdst{letter}"]}
        if not name.startswith("V_MOV"):
            fields["vsrc1"] = instruction.fields[f"vsrc{letter}1"]
        if "literal" in instruction.fields:
            fields["literal"] = instruction.literal
        formats = {one: kind for one in fields if one != "literal"}
        widths = dict.fromkeys(formats, 32)
        steps.append(_ordinary(Instruction(name, "VOP2", "", 4, fields, formats, widths), architecture))
    first, second = steps
    to = instruction.vdstx - FIRST_VGPR

    def step(waves):
        # Both read before one of them writes.
        before = waves.vector[to].copy()
        first(waves)
        after = waves.vector[to].copy()
        waves.vector[to] = before
        second(waves)
        waves.vector[to] = after

    return step


# --- two halves at once, and mixed precision ---

_ONE_OF_HALVES = {"FMA_MIX_F32", "FMA_MIXLO_F16", "FMA_MIXHI_F16", "MAD_MIX_F32", "MAD_MIXLO_F16", "MAD_MIXHI_F16"}


def _packed(instruction, architecture):
    name = instruction.name.removeprefix("V_")
    if name in _ONE_OF_HALVES:
        return _mixed(instruction)
    names = [one for one in ("src0", "src1", "src2") if one in instruction.formats]
    codes = [instruction.fields[one] for one in names]
    literal = instruction.fields.get("literal")
    if instruction.variant:
        raise NotImplementedError(f"{instruction.name} with {instruction.variant}")
    to = instruction.vdst - FIRST_VGPR
    if name.startswith("DOT"):
        if instruction.opsel or instruction.neg and "IU8" not in name or instruction.clmp:
            raise NotImplementedError(f"{instruction.name} with modifiers")
        function = _find(instruction.name)
        if "IU8" in name:
            function = _dot_of_signs(instruction.neg)
        reads = [reader(code, np.dtype(np.uint32), literal) for code in codes]
        write = write_vector(to, np.dtype(np.uint32), "zero")
        return lambda waves: write(waves, function(*[read(waves) for read in reads]))
    high = instruction.opsel_hi | instruction.opsel_hi2 << 2
    if name == "PK_MOV_B32":
        reads = [reader(code + (instruction.opsel >> number & 1), np.dtype(np.uint32)) for number, code in enumerate(codes[:2])]

        def move(waves):
            low, top = [read(waves).copy() for read in reads]
            waves.set_vector(to, low)
            waves.set_vector(to + 1, top)

        return move
    function = _find("V_" + name.removeprefix("PK_"))
    kind = name.rsplit("_", 1)[1]
    dtype = type_of(kind, 16)
    halves = []
    for select, negated in ((instruction.opsel, instruction.neg), (high, instruction.neg_hi)):
        sources = [
            _signed(_half(code, dtype, literal, select >> number & 1), dtype, negated >> number & 1, 0)
            for number, code in enumerate(codes)
        ]
        halves.append(sources)
    function = _with_output_modifiers(instruction, function, dtype)

    def step(waves):
        low, top = [function(*[source(waves) for source in sources]) for sources in halves]
        if dtype.itemsize == 4:
            low, top = low.view(np.uint32), top.view(np.uint32)
            waves.set_vector(to, low)
            waves.set_vector(to + 1, top)
        else:
            low, top = [one.view(np.uint16).astype(np.uint32) for one in (low, top)]
            waves.set_vector(to, low | top << np.uint32(16))

    return step


def _half(code, dtype, literal, is_high):
    if dtype.itemsize == 4:
        is_number = 128 <= code < FIRST_VGPR
        return reader(code if is_number else code + is_high, dtype, literal)
    if code == 255:
        return reader(255, dtype, literal >> 16 * is_high)
    if 128 <= code < FIRST_VGPR:
        if not is_high:
            return reader(code, dtype)
        return reader(128 if code <= 192 or code >= 240 else 193, dtype)  # the upper half of 32 bits with this sign
    return reader(code, dtype, literal, bool(is_high))


def _dot_of_signs(signs):
    """Bits of these say whether an operand's bytes have signs."""

    def dot(a, b, c):
        parts = []
        for number, one in enumerate((a, b)):
            bytes_of = np.ascontiguousarray(one)[..., None].view(np.uint8)
            parts.append((bytes_of.view(np.int8) if signs >> number & 1 else bytes_of).astype(np.int64))
        return (parts[0] * parts[1]).sum(axis=-1) + c.view(np.int32)

    return dot


def _mixed(instruction):
    """f32 of f32 or halves of registers, each operand as it is selected."""
    wide = instruction.opsel_hi | instruction.opsel_hi2 << 2
    sources = []
    for number in range(3):
        code, literal = instruction.fields[f"src{number}"], instruction.fields.get("literal")
        if wide >> number & 1:
            read = reader(code, np.dtype(np.float16), literal, bool(instruction.opsel >> number & 1))
        else:
            read = reader(code, np.dtype(np.float32), literal)
        dtype = np.dtype(np.float16 if wide >> number & 1 else np.float32)
        sources.append(_signed(read, dtype, instruction.neg >> number & 1, instruction.neg_hi >> number & 1))
    if instruction.clmp:
        raise NotImplementedError(f"{instruction.name} with clamp")
    to, dtype, half = instruction.vdst - FIRST_VGPR, np.dtype(np.float16), "low"
    if instruction.name.endswith("F32"):
        dtype = np.dtype(np.float32)
    elif "MIXHI" in instruction.name:
        half = "high"
    write = write_vector(to, dtype, half)

    def step(waves):
        given = [source(waves).astype(np.float32) for source in sources]
        write(waves, fma(*given).astype(dtype))

    return step
