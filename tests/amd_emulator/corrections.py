"""What the emulator gets wrong of the instructions that kernels have, put right: imported once, it changes the emulator's functions.

- v_cvt_f32_f16, v_cvt_f16_f32 and what else takes or gives f16: subnormal f16 numbers became zeros. A kernel's descriptor keeps them
  (.amdhsa_float_denorm_mode_16_64 3). f16 is now the processor's own, which converts by F16C.
- global_store_b32 and wider, on gfx9 global_store_dword: at an address that is no multiple of four, the word that holds the first byte was
  written. HSA lets these instructions write from any byte.
- v_cvt_f32_f16 and other short instructions (VOP1, VOP2, VOPC) with 16 bits on gfx9: registers from v128 on were taken as the upper halves of
  v0 to v127, as on gfx11.
- global_load_u16 and the other loads of 16 bits: the lowest bit of the address was dropped, which HSA keeps, too.
- ds_load_u16_d16_hi, ds_load_u16_d16 and those of 8 bits (gfx9: ds_read_u16_d16_hi): the whole register was written.
- ds_write_b32 v1, a0 and other writes to shared memory of gfx9's accumulation registers: those of the same numbers were written.
- SDWA on gfx9, for example v_cvt_f32_f16_sdwa v0, -v1: the signs turned and dropped before the operation (src0_neg, src0_abs) were forgotten.
- v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], 0: a constant in place of the sums was taken as the number of a register, 0 as v128.
"""
import functools
import re

from test.mockgpu.amd import emu, pcode
from tinygrad.dtype import dtypes
from tinygrad.renderer.llvmir import CPULLVMRenderer
from tinygrad.runtime.autogen.amd.cdna import ins as gfx9
from tinygrad.runtime.autogen.amd.rdna3 import ins as gfx11
from tinygrad.runtime.autogen.amd.rdna4 import ins as gfx12
from tinygrad.uop.ops import UOp

without_f16 = CPULLVMRenderer.supported_dtypes
CPULLVMRenderer.supported_dtypes = lambda self: without_f16(self) | {dtypes.half}

stores = []  # of the instruction that is compiled: the next one sees their words


def begin_instruction():
    stores.clear()


def store_from_any_byte(memory, address, value, active, address_bits=32, bits=32, aligned=emu._mem_store):
    if bits != 32:
        return aligned(memory, address, value, active, address_bits, bits)
    word, value = address >> UOp.const(2, address.dtype), emu._to_u32(value)
    shift = (address.cast(dtypes.uint32) & emu._c(3)) * emu._c(8)
    low, both = (emu._c(1) << shift) - emu._c(1), active & shift.ne(emu._c(0))
    if stores:
        memory = memory.after(*stores)
    first = memory.index(word.valid(active))
    stores.append(first.store(active.where((first & low) | (value << shift), first)))
    second = memory.index((word + UOp.const(1, word.dtype)).valid(both))
    high = value >> emu._c(1) >> (emu._c(31) - shift)  # by 32 bits at least, which is no shift, where all are in the first word
    stores.append(second.store(both.where((second & (low ^ emu._c(0xffffffff))) | high, second)))
    return stores[-2:]


emu._mem_store = store_from_any_byte


def load_from_any_byte(parser, address, kind, load=pcode.Parser._handle_mem_load):
    memory, active = parser.vars.get("_vmem", parser.vars.get("_lds")), parser.vars.get("_active")
    if kind not in (dtypes.uint16, dtypes.int16) or memory.dtype == dtypes.uint8:
        return load(parser, address, kind)
    two, one = UOp.const(2, address.dtype), UOp.const(1, address.dtype)
    words = [memory.index(word if active is None else word.valid(active)).cast(dtypes.uint64) for word in (address >> two, (address + one) >> two)]
    shift = (address.cast(dtypes.uint64) & UOp.const(3, dtypes.uint64)) * UOp.const(8, dtypes.uint64)
    value = (words[0] | (words[1] << UOp.const(32, dtypes.uint64))) >> shift
    return pcode._cast_to(value.cast(dtypes.uint32) & emu._c(0xffff), kind)


pcode.Parser._handle_mem_load = load_from_any_byte


def with_signs(instruction, ctx, compile_sdwa=emu._compile_sdwa, select=emu._sdwa_select):
    bits = 16 if "S0.f16" in emu.get_pcode(instruction.op) else 32
    operands = iter(((emu._iattr(instruction, "src0_abs"), emu._iattr(instruction, "src0_neg")),
                     (emu._iattr(instruction, "src1_abs"), emu._iattr(instruction, "src1_neg"))))

    def select_signed(value, part, extend):
        drops, turns = next(operands)
        value = select(value, part, extend)
        if drops:
            value = value & emu._c((1 << bits - 1) - 1)
        return value ^ emu._c(1 << bits - 1) if turns else value

    emu._sdwa_select = select_signed
    try:
        return compile_sdwa(instruction, ctx)
    finally:
        emu._sdwa_select = select


def with_kept_half(instruction, ctx, compile_instruction=emu._compile_mem_op):
    name = emu._op_name(instruction)
    found = re.match(r"DS_(?:LOAD|READ)_([UI])(8|16)_D16(_HI)?$", name)
    if found is None:
        return compile_instruction(instruction, ctx)
    of, lane, exec_mask = type(instruction), ctx.range(), ctx.rexec()
    register = ctx.inst_field(of.vdst)
    address = ctx.rvgpr_dyn(ctx.inst_field(of.addr), lane) + ((ctx.inst_field(of.offset1) << emu._c(8)) | ctx.inst_field(of.offset0))
    parser = pcode.Parser([], {"_lds": ctx.lds, "_active": emu._lane_active(exec_mask, lane)}, {})
    value = parser._handle_mem_load(address, dtypes.uint8 if found[2] == "8" else dtypes.uint16).cast(dtypes.uint32)
    if found[1] == "I" and found[2] == "8":
        value = ((value ^ emu._c(0x80)) - emu._c(0x80)) & emu._c(0xffff)
    old = ctx.rvgpr_dyn(register, lane)
    value = (old & emu._c(0xffff)) | (value << emu._c(16)) if found[3] else (old & emu._c(0xffff0000)) | value
    return UOp.sink(ctx.wvgpr_dyn(register, lane, value, exec_mask).end(lane), *ctx.inc_pc())


def with_accumulators(instruction, ctx, read=emu._Ctx.rvgpr_dyn):
    if not emu._iattr(instruction, "acc"):
        return with_kept_half(instruction, ctx)
    data = [ctx.inst_field(field) for field in (type(instruction).data0, type(instruction).data1)]
    data += [register + emu._c(i) for register in data for i in range(1, 4)]

    def read_data(self, register, lane, *rest):
        return self.raccvgpr_dyn(register, lane, *rest) if any(register is each for each in data) else read(self, register, lane, *rest)

    emu._Ctx.rvgpr_dyn = read_data
    try:
        return with_kept_half(instruction, ctx)
    finally:
        emu._Ctx.rvgpr_dyn = read


emu._INST_HANDLERS[gfx9.DS] = with_accumulators
for kind in (gfx11.DS, gfx12.DS):
    emu._INST_HANDLERS[kind] = with_kept_half


for kind in (gfx9.VOP1_SDWA, gfx9.VOP2_SDWA, gfx9.VOP2_SDWA_SDST):
    emu._INST_HANDLERS[kind] = with_signs


def with_whole_registers(instruction, ctx, compile_instruction, read=emu._Ctx.rsrc_dyn):
    bits = instruction.canonical_op_bits
    if 16 not in (bits["s0"], bits["d"]):
        return compile_instruction(instruction, ctx)
    instruction.canonical_op_bits = {**bits, "s0": 32, "d": 32}  # so that no half is chosen
    emu._Ctx.rsrc_dyn = lambda self, offset, lane, _bits=32, *rest, **named: read(self, offset, lane, bits["s0"], *rest, **named)
    try:
        return compile_instruction(instruction, ctx)
    finally:
        emu._Ctx.rsrc_dyn = read


for kind in (gfx9.VOP1, gfx9.VOP2, gfx9.VOPC):
    emu._INST_HANDLERS[kind] = functools.partial(with_whole_registers, compile_instruction=emu._INST_HANDLERS[kind])


def with_constant_sums(instruction, ctx, compile_wmma=emu._compile_wmma, read=emu._Ctx.rvgpr_dyn):
    sums = ctx.inst_field(type(instruction).src2)
    in_registers = sums >= emu._c(256)

    def read_sums(self, register, lane, *rest):
        if sums not in register.toposort():
            return read(self, register, lane, *rest)
        return in_registers.where(read(self, register, lane, in_registers), self.rsrc_dyn(sums, None))

    emu._Ctx.rvgpr_dyn = read_sums
    try:
        return compile_wmma(instruction, ctx)
    finally:
        emu._Ctx.rvgpr_dyn = read


emu._compile_wmma = with_constant_sums
