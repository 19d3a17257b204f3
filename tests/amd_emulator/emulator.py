"""Runs code for an AMD GPU in tinygrad's emulator of the instruction set, whose checkout WICK_AMD_EMULATOR names.

Code is an ELF file in memory. A kernel's registers and packets are filled as LLVM's "User Guide for AMDGPU Backend" says that a dispatch
fills them: the descriptor of 64 bytes, the arguments with the hidden ones behind them, and the packet of HSA that tells the grid.
"""
import ctypes
import functools
import itertools
import mmap
import os
import struct
import sys

sys.path.insert(0, os.environ["WICK_AMD_EMULATOR"])
from test.mockgpu.amd import emu  # noqa: E402
import corrections  # noqa: E402

# By the number in the ELF header's flags (EF_AMDGPU_MACH).
ARCHITECTURES = {0x041: "rdna3", 0x04e: "rdna4", 0x04c: "cdna"}
# Instructions that write back or invalidate caches: the emulator has no caches, and decodes them on no architecture. The bits of the first
# word that tell them, and how many words they have: buffer_gl0_inv, buffer_gl1_inv; global_inv, global_wb, global_wbinv; buffer_inv,
# buffer_wbl2.
CACHE_INSTRUCTIONS = {
    "rdna3": (0xffffffff, (0xe0ac0000, 0xe0b00000), 2),
    "rdna4": (0xffffffff, (0xee0ac07c, 0xee0b007c, 0xee13c07c), 3),
    "cdna": (0xffff3fff, (0xe0a40000, 0xe0a00000), 2),
}
S_NOP = 0xbf800000
PT_LOAD, SHT_RELA, SHT_DYNSYM = 1, 4, 11
IMPLICIT_BYTES = 256


def read(address, form):
    return struct.unpack(form, ctypes.string_at(address, struct.calcsize(form)))


class Code:
    """A code object, loaded as a driver loads it."""

    def __init__(self, file):
        header = read(file, "<16sHHIQQQIHHHHHH")
        self.architecture = ARCHITECTURES.get(header[7] & 0xff)
        if self.architecture is None:
            raise RuntimeError(f"the emulator has no processor number {header[7] & 0xff:#x}")
        segments = [read(file + header[5] + i * header[9], "<IIQQQQQQ") for i in range(header[10])]
        loaded = [segment for segment in segments if segment[0] == PT_LOAD]
        self.bytes = max(segment[3] + segment[6] for segment in loaded)
        self.memory = mmap.mmap(-1, self.bytes)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        for _, _, offset, address, _, in_file, _, _ in loaded:
            ctypes.memmove(self.base + address, file + offset, in_file)
        self.entries = (Entry * (self.bytes // 4 + 1))()
        self.symbols = {}
        sections = [read(file + header[6] + i * header[11], "<IIQQQQIIQQ") for i in range(header[12])]
        for section in sections:
            if section[1] == SHT_RELA and section[5]:
                raise RuntimeError("the code has relocations, which no kernel of the library needs")
            if section[1] == SHT_DYNSYM:
                names = file + sections[section[6]][4]
                for at in range(section[4], section[4] + section[5], 24):
                    name, _, _, _, value, _ = read(file + at, "<IBBHQQ")
                    self.symbols[ctypes.string_at(names + name).decode()] = value


    def decode(self, address):
        (program, runtime), instruction = decode_at(address, self.architecture)
        entry = self.entries[(address - self.base) // 4]
        for i, memory in enumerate(program.arg.globals):
            entry.memories[i] = memory
        operation = getattr(instruction, "op", None)
        entry.barrier = operation in emu._BARRIER_OPS or operation in emu._BARRIER_SOP1_OPS
        entry.function = ctypes.cast(runtime.fxn, ctypes.c_void_p).value


@functools.lru_cache(maxsize=None)
def load(file):
    return Code(file)


def implicit_arguments(grid, lanes):
    block = bytearray(IMPLICIT_BYTES)
    struct.pack_into("<IIIHHHHHH", block, 0, *grid, lanes, 1, 1, 0, 0, 0)
    struct.pack_into("<H", block, 64, 3)  # dimensions
    return bytes(block)


def launch(file, kernel, arguments, size, grid, lanes, step):
    try:
        step = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p)(step)
        run(load(file), kernel, ctypes.string_at(arguments, size), grid, lanes, step)
    except Exception as error:
        print(f"AMD emulator: {kernel}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)


def run(code, kernel, explicit, grid, lanes, step):
    descriptor = code.base + code.symbols[kernel + ".kd"]
    shared, private, argument_bytes, _, entry = read(descriptor, "<IIIIq")
    _, _, rsrc2, properties, preload = read(descriptor + 44, "<IIIHH")
    if preload:
        raise RuntimeError("the kernel wants arguments in registers, which only the processor's firmware puts there")
    filled = explicit + bytes(-len(explicit) % 8) + implicit_arguments(grid, lanes)
    kernarg = ctypes.create_string_buffer(filled.ljust(argument_bytes, b"\0"), max(len(filled), argument_bytes))
    packet = ctypes.create_string_buffer(64)
    struct.pack_into("<HHHHHHIIIIIQQ", packet, 0, 0, 3, lanes, 1, 1, 0, grid[0] * lanes, grid[1], grid[2], private, shared,
                     descriptor, ctypes.addressof(kernarg))
    user = []
    for bit, words in enumerate(([0] * 4, address_words(packet), [0] * 2, address_words(kernarg), [0] * 2, [0] * 2, [private])):
        if properties >> bit & 1:
            user += words
    with emu._MXCSRContext():  # subnormal numbers are zeros
        Launch(code, descriptor + entry, shared, private, user, rsrc2, grid, lanes).run(step)


class Entry(ctypes.Structure):
    """A decoded instruction, as bridge.cpp has it: its function, which of a wave's memories it takes, and whether waves meet there."""

    _fields_ = [("function", ctypes.c_void_p), ("memories", ctypes.c_uint8 * 7), ("barrier", ctypes.c_uint8)]


class Launch:
    """One kernel on a grid, group by group; a wave runs until it meets the others of its group at a barrier."""

    def __init__(self, code, entry, shared, private, user, rsrc2, grid, lanes):
        self.code, self.grid, self.rsrc2 = code, grid, rsrc2
        self.group_memory = ctypes.create_string_buffer(max(shared, 4))
        size = emu._wave_size(code.architecture)
        self.waves = []
        for start in range(0, lanes, size):
            state = emu._init_wave(entry, start, lanes, lanes, 1, 1, 0, 0, private, code.architecture, 0, 0, 0, user, size)
            scratch = ctypes.create_string_buffer(max(private * size, 4))
            addresses = [state.sgpr_buf._buf.va_addr, state.vgpr_buf._buf.va_addr, 0, ctypes.addressof(self.group_memory),
                         ctypes.addressof(scratch), state.accvgpr_buf._buf.va_addr]
            memories = (ctypes.c_void_p * 6)(*addresses)
            first = [(address, ctypes.string_at(address, bytes_)) for address, bytes_ in
                     ((addresses[0], emu.SGPR_COUNT * 4), (addresses[1], 256 * size * 4))]
            self.waves.append((state, memories, first, scratch))
        if len(user) > (rsrc2 >> 1 & 31):
            raise RuntimeError(f"{len(user)} registers are filled where the kernel has {rsrc2 >> 1 & 31}")

    def place(self, state, group):
        """Tells a wave which group it is of."""
        x, y, z = group
        if self.code.architecture == "rdna4":
            state._write_sgpr(emu.ttmp[7].offset, y | z << 16)
            state._write_sgpr(emu.ttmp[9].offset, x)
            return
        at = self.rsrc2 >> 1 & 31
        for bit, number in ((7, x), (8, y), (9, z)):
            if self.rsrc2 >> bit & 1:
                state._write_sgpr(at, number)
                at += 1

    def run(self, step):
        for z, y, x in itertools.product(*(range(count) for count in reversed(self.grid))):
            ctypes.memset(self.group_memory, 0xa5, len(self.group_memory))  # nobody may read what nobody wrote
            for state, _, first, _ in self.waves:
                for address, contents in first:
                    ctypes.memmove(address, contents, len(contents))
                self.place(state, (x, y, z))
            running = self.waves
            while running:
                running = [wave for wave in running if self.until_barrier(wave, step)]

    def until_barrier(self, wave, step):
        """Whether the wave has more to do."""
        state, memories, _, _ = wave
        while True:
            why = step(self.code.entries, self.code.base, self.code.bytes, memories)
            if why == 0:
                return False
            if why == 1:
                return True
            if why != 2:
                raise RuntimeError(f"the kernel jumped out of its code, to {state.pc - self.code.base:#x}")
            self.code.decode(state.pc)


def decode_at(address, architecture):
    """As the emulator's own, but for instructions of caches, each of which becomes as many s_nop as it has words."""
    mask, words, count = CACHE_INSTRUCTIONS[architecture]
    if read(address, "<I")[0] & mask in words:
        ctypes.memmove(address, struct.pack("<I", S_NOP) * count, 4 * count)
    corrections.begin_instruction()
    return emu._decode_at(address, architecture)


def address_words(buffer):
    address = ctypes.addressof(buffer)
    return [address & 0xffffffff, address >> 32]
