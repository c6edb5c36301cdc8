"""Runs kernels for NVIDIA's and AMD's devices on the host, instruction by instruction, for all threads of a block at once.

What PTX for matrices and copies does is in `warp_assembly`, what AMD's instructions for matrices do in `wave_matrices`. Copies
that are asked for arrive as late as they may; until then their target holds other bytes. That no thread reads what another one
may not have written yet, nor writes over what it may still have to read, is checked of pointers to the block's memory. Floats
are computed in f64.
"""

import numpy as np
import warp_assembly
import wave_matrices
from llvmlite import ir
from phlox.backends.gpu.plan import Fill
from warp_values import bits_of, dtype_of, permuted, scalar_of, signed, sum_of_products, wrapped

_GENERIC_SHARED = 1 << 40  # where generic pointers to the block's memory begin
_SHARED_BYTES = 1 << 18
_SEVERAL = -2  # threads have read a byte


class Memory:
    """The device's memory; addresses are from 4096 up."""

    def __init__(self, size):
        self.bytes, self.top = np.full(size + 4096, 0xA5, np.uint8), 4096

    def allocate(self, size):
        address = self.top
        self.top += -(-max(size, 1) // 256) * 256
        return address

    def write(self, address, array):
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.bytes[address : address + raw.size] = raw

    def read(self, address, count, dtype):
        size = count * np.dtype(dtype).itemsize
        return self.bytes[address : address + size].view(dtype).copy()


def run_program(plan, module, arguments, result_shapes, blocks=None, lanes=32):
    """Run a plan of launches and fills, block after block; so many threads are a warp. Returns the results; appends the blocks
    to a list.
    """
    sizes = [array.nbytes for array in arguments] + [int(np.prod(shape)) * dtype.itemsize for shape, dtype in result_shapes]
    own = plan.temporary_bytes + len(plan.constants)
    memory = Memory(sum(-(-max(size, 1) // 256) * 256 for size in sizes) + own + 8192)
    given = [memory.allocate(array.nbytes) for array in arguments]
    for address, array in zip(given, arguments):
        memory.write(address, array)
    results = [memory.allocate(size) for size in sizes[len(arguments) :]]
    temporary = memory.allocate(plan.temporary_bytes)
    constants = memory.allocate(len(plan.constants))
    memory.write(constants, np.frombuffer(plan.constants, np.uint8))
    lists, bases = {"argument": given, "result": results}, {"temporary": temporary, "constant": constants, "number": 0}

    def address_of(place):
        return lists[place.region][place.number] if place.region in lists else bases[place.region] + place.number

    for step in plan.steps:
        if isinstance(step, Fill):
            memory.write(address_of(step.target), np.full(step.size, step.byte, np.uint8))
            continue
        places = list(map(address_of, step.arguments))
        function = next(one for one in module.functions if one.name == step.kernel)
        for number in range(step.grid[0]):
            for second in range(step.grid[1]):
                for third in range(step.grid[2]):
                    block = Block(function, memory, step.block[0], (number, second, third), lanes)
                    block.run(places)
                    if blocks is not None:
                        blocks.append(block)
    read = [memory.read(address, int(np.prod(shape)), dtype) for address, (shape, dtype) in zip(results, result_shapes)]
    return [array.reshape(shape) for array, (shape, _) in zip(read, result_shapes)]


class Block:
    """One block of threads."""

    def __init__(self, function, memory, threads, number, lanes=32):
        self.function, self.memory, self.threads, self.number, self.lanes = function, memory, threads, number, lanes
        self.shared = np.full(_SHARED_BYTES, 0xA5, np.uint8)
        self.values = {}
        self.pieces, self.top = {}, 0  # of the memory of the block
        self.asked, self.groups = [], []
        self.products = []  # what groups of warps' products read
        self.writers = np.full(_SHARED_BYTES, -1)  # of each byte since the last barrier, and who read it
        self.readers = np.full(_SHARED_BYTES, -1)
        self.most_conflicts = 1  # of accesses to the block's memory: how often the same bank is asked at once

    def run(self, arguments):
        every = np.ones(self.threads, bool)
        for argument, value in zip(self.function.args, arguments):
            self.values[argument] = np.full(self.threads, value, np.uint64)
        order = _reverse_postorder(self.function)
        rank = {block: number for number, block in enumerate(order)}
        at = np.zeros(self.threads, int)
        came = np.full(self.threads, -1)
        while (at < len(order)).any():
            here = at.min()
            self.active = at == here
            block = order[here]
            self._phis(block, rank, came)
            for instruction in block.instructions:
                if isinstance(instruction, ir.PhiInstr):
                    continue
                if instruction.opname == "br" and len(instruction.operands) == 1:
                    at[self.active], came[self.active] = rank[instruction.operands[0]], here
                elif instruction.opname == "br":
                    condition = self._get(instruction.operands[0]).astype(bool)
                    for taken, target in ((condition, 1), (~condition, 2)):
                        at[self.active & taken] = rank[instruction.operands[target]]
                    came[self.active] = here
                elif instruction.opname.startswith("ret"):
                    at[self.active] = len(order)
                else:
                    self._set(instruction, self._evaluate(instruction))
        assert every.all()

    def _phis(self, block, rank, came):
        new = []
        for instruction in block.instructions:
            if not isinstance(instruction, ir.PhiInstr):
                break
            value = None
            for incoming, source in instruction.incomings:
                where = self.active & (came == rank[source])
                if not where.any():
                    continue
                given = self._get(incoming)
                value = given.copy() if value is None else np.where(where, given, value)
            new.append((instruction, value))
        for instruction, value in new:
            self._set(instruction, value)

    def _set(self, instruction, value):
        old = self.values.get(instruction)
        if value is None:
            return
        if old is None or self.active.all():
            self.values[instruction] = value
        elif isinstance(value, list):
            self.values[instruction] = [np.where(self.active, one, before) for one, before in zip(value, old)]
        else:
            mask = self.active.reshape((-1,) + (1,) * (value.ndim - 1))
            self.values[instruction] = np.where(mask, value, old)

    def _get(self, value):
        if value in self.values:
            return self.values[value]
        if isinstance(value, ir.GlobalVariable):
            return np.full(self.threads, self._shared_address(value), np.uint64)
        assert isinstance(value, ir.Constant), value
        return self._constant(value.type, value.constant)

    def _shared_address(self, variable):
        """Where memory of the block begins: one piece behind the other."""
        if variable not in self.pieces:
            self.pieces[variable], self.top = self.top, self.top + -(-variable.value_type.count // 1024) * 1024
            assert self.top <= _SHARED_BYTES
        return self.pieces[variable]

    def _constant(self, type_, constant):
        if isinstance(type_, ir.VectorType):
            if constant is ir.Undefined:
                return np.zeros((self.threads, type_.count), self._register(type_.element))
            parts = constant if isinstance(constant, (list, tuple)) else [constant] * type_.count
            parts = [getattr(part, "constant", part) for part in parts]
            return np.stack([self._constant(type_.element, part) for part in parts], axis=1)
        if isinstance(type_, ir.IntType):
            number = int(constant) if constant not in (None, ir.Undefined) else 0
            return np.full(self.threads, number & ((1 << type_.width) - 1), np.uint64)
        return np.full(self.threads, 0.0 if constant in (None, ir.Undefined) else constant, self._register(type_))

    @staticmethod
    def _register(type_):
        return np.uint64 if isinstance(type_, (ir.IntType, ir.PointerType)) else dtype_of(type_)

    # --- instructions ---

    def _evaluate(self, instruction):
        name, type_ = instruction.opname, instruction.type
        if name == "call":
            return self._call(instruction)
        operands = [self._get(operand) for operand in instruction.operands]
        scalar = scalar_of(type_)
        with np.errstate(all="ignore"):
            match name:
                case "add" | "sub" | "mul" | "and" | "or" | "xor":
                    function = {
                        "add": np.add, "sub": np.subtract, "mul": np.multiply,
                        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
                    }[name]  # fmt: skip
                    return wrapped(function(*operands), scalar)
                case "udiv" | "urem":
                    divisor = np.maximum(operands[1], np.uint64(1))
                    return operands[0] // divisor if name == "udiv" else operands[0] % divisor
                case "ashr":
                    bits = bits_of(scalar)
                    return wrapped((signed(operands[0], bits) >> operands[1].astype(np.int64)).astype(np.uint64), scalar)
                case "shl" | "lshr":
                    shift = np.left_shift if name == "shl" else np.right_shift
                    return wrapped(shift(*operands), scalar)
                case "zext" | "trunc" | "ptrtoint" | "inttoptr":
                    return wrapped(operands[0], scalar)
                case "fence":
                    return None
                case "sext":
                    source = scalar_of(instruction.operands[0].type)
                    return wrapped(signed(operands[0], source.width).astype(np.uint64), scalar)
                case "addrspacecast":
                    source = instruction.operands[0].type.addrspace
                    moved = (source == 3) - (type_.addrspace == 3)
                    return operands[0] + np.array(moved * _GENERIC_SHARED).astype(np.uint64)
                case "bitcast":
                    return self._bitcast(operands[0], instruction.operands[0].type, type_)
                case "icmp" | "fcmp":
                    return self._compare(instruction, *operands)
                case "select":
                    condition = operands[0].astype(bool)
                    return np.where(condition, operands[1], operands[2])
                case "fadd" | "fmul" | "fsub":
                    function = {"fadd": np.add, "fmul": np.multiply, "fsub": np.subtract}[name]
                    return function(operands[0].astype(np.float64), operands[1]).astype(operands[0].dtype)
                case "sitofp":
                    return signed(operands[0], bits_of(scalar_of(instruction.operands[0].type))).astype(dtype_of(scalar))
                case "fptrunc" | "fpext":
                    return operands[0].astype(dtype_of(scalar))
                case "extractvalue":
                    (index,) = instruction.indices
                    return operands[0][index]
                case "insertelement":
                    vector = operands[0].copy()
                    vector[np.arange(self.threads), operands[2].astype(int)] = operands[1]
                    return vector
                case "shufflevector":
                    lanes = [getattr(lane, "constant", lane) for lane in instruction.operands[2].constant]
                    return np.concatenate(operands[:2], axis=1)[:, lanes]
                case "extractelement":
                    return operands[0][np.arange(self.threads), operands[1].astype(int)]
                case "getelementptr":
                    size = dtype_of(instruction.source_etype).itemsize
                    (offset,) = operands[1:]
                    bits = instruction.operands[1].type.width
                    return operands[0] + (signed(offset, bits) * size).astype(np.uint64)
                case "load" | "load atomic":
                    return self._load(operands[0], type_, instruction.operands[0].type.addrspace == 3)
                case "atomicrmw":
                    return self._add_atomically(instruction, *operands)
                case "store" | "store atomic":
                    pointer = instruction.operands[1].type
                    self._store(operands[1], operands[0], instruction.operands[0].type, pointer.addrspace == 3)
                    return None
        raise NotImplementedError(str(instruction))

    def _bitcast(self, value, source, target):
        memory = np.ascontiguousarray(value.astype(dtype_of(scalar_of(source))).reshape(self.threads, -1))
        made = memory.view(dtype_of(scalar_of(target))).astype(self._register(scalar_of(target)))
        return made if isinstance(target, ir.VectorType) else made[:, 0]

    def _compare(self, instruction, one, other):
        kind = scalar_of(instruction.operands[0].type)
        op = instruction.op
        if op == "uno":
            return (np.isnan(one) | np.isnan(other)).astype(np.uint64)
        if op[0] == "s":
            one, other = signed(one, bits_of(kind)), signed(other, bits_of(kind))
        tests = {
            "eq": one == other,
            "ne": one != other,
            "lt": one < other,
            "le": one <= other,
            "gt": one > other,
            "ge": one >= other,
        }
        return tests[op if op in tests else op[1:]].astype(np.uint64)

    def _places(self, addresses, size, is_shared):
        addresses = addresses + np.uint64(_GENERIC_SHARED if is_shared else 0)
        shared = addresses >= _GENERIC_SHARED
        memory = self.shared if shared[self.active].any() else self.memory.bytes
        addresses = np.where(self.active, addresses - np.where(shared, np.uint64(_GENERIC_SHARED), np.uint64(0)), np.uint64(0))
        places = addresses.astype(np.int64)[:, None] + np.arange(size)
        if memory is self.memory.bytes:
            bounds = places[self.active]
            assert bounds.min() >= 4096 and bounds.max() < self.memory.bytes.size, "outside of the memory"
        assert not (addresses[self.active] % np.uint64(size & -size)).any(), "not aligned"
        return memory, places

    def _load(self, addresses, type_, is_shared):
        scalar, count = (type_.element, type_.count) if isinstance(type_, ir.VectorType) else (type_, 1)
        dtype = dtype_of(scalar)
        memory, places = self._places(addresses, dtype.itemsize * count, is_shared)
        if is_shared:
            self._count_conflicts(places)
            own = np.arange(self.threads)[:, None]
            writers = self.writers[places]
            assert ((writers == -1) | (writers == own))[self.active].all(), "read before it is there for all"
            taken = places[self.active]
            self.readers[taken] = np.where(np.isin(self.readers[taken], (-1,)), own[self.active], _SEVERAL)
        value = memory[places].view(dtype).astype(self._register(scalar))
        return value[:, 0] if count == 1 else value

    def _store(self, addresses, value, type_, is_shared):
        scalar, count = (type_.element, type_.count) if isinstance(type_, ir.VectorType) else (type_, 1)
        raw = np.ascontiguousarray(value.astype(dtype_of(scalar)).reshape(self.threads, count)).view(np.uint8)
        memory, places = self._places(addresses, raw.shape[1], is_shared)
        if is_shared:
            self._count_conflicts(places)
            own = np.arange(self.threads)[:, None]
            for others in (self.readers[places], self.writers[places]):
                assert ((others == -1) | (others == own))[self.active].all(), "written over while it may be read"
            self.writers[places[self.active]] = np.broadcast_to(own, places.shape)[self.active]
        memory[places[self.active]] = raw[self.active]

    def _count_conflicts(self, places):
        """Of AMD's local data share: 32 banks of 4 bytes, of so many threads at once as ask for 128 bytes.

        Source: AMD's lab notes, "Avoiding LDS bank conflicts on AMD GPUs".
        """
        words = places[:, ::4] // 4
        at_once = 32 // words.shape[1]
        for first in range(0, self.threads, at_once):
            asked = np.unique(words[first : first + at_once])
            self.most_conflicts = max(self.most_conflicts, np.bincount(asked % 32).max())

    def _add_atomically(self, instruction, addresses, added):
        """One thread after the other, the last ones first."""
        assert instruction.operation == "add"
        dtype = dtype_of(instruction.type)
        memory, places = self._places(addresses, dtype.itemsize, instruction.operands[0].type.addrspace == 3)
        old = np.zeros(self.threads, np.uint64)
        for thread in np.flatnonzero(self.active)[::-1]:
            word = memory[places[thread]].view(dtype)
            old[thread] = word[0]
            memory[places[thread]] = (word + added[thread].astype(dtype)).view(np.uint8)
        return old

    # --- calls ---

    def _of_lane(self, values, lane):
        """What the threads with these numbers in their warps have; whole warps are here."""
        self._require_warps()
        assert (lane[self.active] < self.lanes).all()
        return values[np.arange(self.threads) // self.lanes * self.lanes + lane.astype(int) % self.lanes]

    def _ballot(self, condition):
        """A bit for each thread of a warp that is here, and for which it holds."""
        self._require_warps()
        bits = condition.reshape(-1, self.lanes) << np.arange(self.lanes, dtype=np.uint64)
        return np.repeat(bits.sum(axis=1, dtype=np.uint64), self.lanes)

    def _require_warps(self):
        here = self.active.reshape(-1, self.lanes)
        assert (here.all(axis=1) == here.any(axis=1)).all(), "not all threads of a warp are here"

    def _call(self, instruction):
        arguments = [self._get(one) for one in instruction.args]
        if isinstance(instruction.callee, ir.InlineAsm):
            assert self.active.all(), "not all threads are here"
            return warp_assembly.run(self, instruction.callee.asm, arguments)
        name = instruction.callee.name
        if ".sreg.tid." in name or ".workitem.id." in name:
            return np.arange(self.threads, dtype=np.uint64)
        if ".sreg.ctaid." in name or ".workgroup.id." in name:
            return np.full(self.threads, self.number["xyz".index(name[-1])], np.uint64)
        if "barrier" in name:
            assert self.active.all(), "a barrier that not all threads reach"
            self.readers[:], self.writers[:] = -1, -1
            return None
        if ".mfma." in name or ".wmma." in name:
            assert self.active.all(), "not all threads are here"
            return wave_matrices.multiply(name, arguments)
        if name == "llvm.amdgcn.perm":
            return permuted(*arguments)
        if name == "llvm.amdgcn.sdot4":
            return sum_of_products(*arguments[:3])
        if name == "llvm.nvvm.shfl.sync.idx.i32":
            return self._of_lane(*arguments[1:3])
        if name == "llvm.amdgcn.ds.bpermute":
            return self._of_lane(arguments[1], arguments[0] >> np.uint64(2))
        if name == "llvm.nvvm.vote.ballot.sync":
            return self._ballot(arguments[1])
        if name.startswith("llvm.amdgcn.ballot."):
            return self._ballot(arguments[0])
        if name.startswith("llvm.ctpop."):
            return np.bitwise_count(arguments[0]).astype(np.uint64)
        if name.startswith("llvm.cttz."):
            return np.bitwise_count((arguments[0] & (~arguments[0] + np.uint64(1))) - np.uint64(1)).astype(np.uint64)
        if name.startswith(("llvm.maximum.", "llvm.minimum.")):
            return (np.maximum if "max" in name else np.minimum)(*arguments)
        if name.startswith("llvm.fmuladd."):
            one, other, third = (argument.astype(np.float64) for argument in arguments)
            return (one * other + third).astype(arguments[0].dtype)
        raise NotImplementedError(name)


def _reverse_postorder(function):
    order, seen = [], set()

    def visit(block):
        seen.add(block)
        terminator = block.terminator
        for target in reversed([one for one in terminator.operands if isinstance(one, ir.Block)]):
            if target not in seen:
                visit(target)
        order.append(block)

    visit(function.entry_basic_block)
    return order[::-1]
