#!/usr/bin/env python3
"""Checks and times on this machine's NVIDIA GPU the CUDA C++ texts that wick_kernel_texts wrote: kernel_texts.py FOLDER [NAME...].

Compiles each text by NVRTC, compares its outputs with f64 on the host, and times it in a CUDA graph of many launches, whose inputs take
turns so that they come from memory and not from the cache. PyTorch gives memory, graphs and the peers: a copy from device to device, and
cuBLAS. With --compile-only no GPU is needed: it compiles, and stops there. NAME keeps the cases that begin with it.
"""
import argparse
import ctypes
import json
import pathlib
import statistics
import struct
import sys

import numpy as np

LAUNCHES = 48  # of one graph
ROTATED_BYTES = 300 << 20  # several times the second-level cache
ATTENTION = [(length, heads, split) for length in (512, 4096) for heads in (1, 4) for split in (256, 512)]


def library(*names):
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    sys.exit(f"kernel_texts: none of {', '.join(names)} can be opened")


def compile_text(text, architecture):
    """The machine code of a text, as NVRTC makes it."""
    nvrtc = library("libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12")
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", b"-I/usr/local/cuda/include"]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    if status != 0:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, code)
    return code.raw


class Kernel:
    """One text, compiled and loaded."""

    def __init__(self, folder, entry, architecture, driver):
        self.driver, self.lanes, self.info = driver, entry["lanes"], entry
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        code = compile_text((folder / entry["file"]).read_text(), architecture)
        self.check(driver.cuModuleLoadData(ctypes.byref(self.module), code))
        self.check(driver.cuModuleGetFunction(ctypes.byref(self.function), self.module, entry["entry"].encode()))

    @staticmethod
    def check(status):
        if status != 0:
            sys.exit(f"kernel_texts: CUDA error {status}")

    def resources(self):
        """Registers of a lane, and groups that one multiprocessor holds."""
        registers, groups = ctypes.c_int(), ctypes.c_int()
        self.check(self.driver.cuFuncGetAttribute(ctypes.byref(registers), 4, self.function))
        self.check(self.driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(ctypes.byref(groups), self.function, self.lanes,
                                                                           ctypes.c_size_t(0)))
        return registers.value, groups.value

    def __call__(self, grid, tensors, parameters):
        """Launches on the current stream; parameters are integers and floats, the members of the text's struct."""
        packed = b"".join(struct.pack("<f" if isinstance(p, float) else "<I", p) for p in parameters)
        arguments = [ctypes.c_void_p(t.data_ptr()) for t in tensors] + [ctypes.create_string_buffer(packed, len(packed))]
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in arguments])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.driver.cuLaunchKernel(self.function, *(list(grid) + [1] * (3 - len(grid))), self.lanes, 1, 1, 0, stream, pointers,
                                              None))


def seconds(launch, launches=LAUNCHES):
    """Median time of one launch; launch(i) is the i-th of a graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(3):
            launch(i)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(launches):
            launch(i)
    times = []
    for _ in range(9):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / launches)
    return statistics.median(times[2:])


def error(out, reference):
    """Norm of the difference over the norm of the reference; NaN where an element was not written."""
    out = out.astype(np.float64)
    return float(np.linalg.norm(out - reference) / np.linalg.norm(reference)) if np.isfinite(out).all() else float("nan")


def copies(nbytes):
    return max(1, min(LAUNCHES, -(-ROTATED_BYTES // nbytes)))


def device(array):
    return torch.from_numpy(np.ascontiguousarray(array)).cuda()


def halves(random, count, scale):
    return (random.uniform(0.5, 1, count) * scale).astype(np.float16)


def q8_0(random, count):
    """Blocks of 34 bytes, and their elements."""
    blocks = np.empty(count, np.dtype([("d", "<f2"), ("q", "i1", 32)]))
    blocks["d"], blocks["q"] = halves(random, count, 0.01), random.integers(-127, 128, (count, 32), np.int8)
    return blocks, lambda b: (b["d"].astype(np.float64)[:, None] * b["q"]).reshape(-1)


def q4_k(random, count):
    """Blocks of 144 bytes, and their elements."""
    blocks = np.empty(count, np.dtype([("d", "<f2"), ("dmin", "<f2"), ("s", "u1", 12), ("q", "u1", 128)]))
    blocks["d"], blocks["dmin"] = halves(random, count, 0.001), halves(random, count, 0.002)
    blocks["s"] = random.integers(0, 256, (count, 12), np.uint8)
    blocks["q"] = random.integers(0, 256, (count, 128), np.uint8)

    def elements(b):
        s = b["s"].astype(int)
        scale = np.concatenate([s[:, :4] & 63, (s[:, 8:] & 15) | (s[:, :4] >> 6 << 4)], 1)
        minimum = np.concatenate([s[:, 4:8] & 63, (s[:, 8:] >> 4) | (s[:, 4:8] >> 6 << 4)], 1)
        q = b["q"].reshape(-1, 4, 1, 32)
        q = np.concatenate([q & 15, q >> 4], 2).reshape(-1, 8, 32)
        return (b["d"].astype(float)[:, None, None] * scale[:, :, None] * q
                - b["dmin"].astype(float)[:, None, None] * minimum[:, :, None]).reshape(-1)

    return blocks, elements


class Bench:
    def __init__(self, kernels, wanted):
        self.kernels, self.wanted = kernels, wanted
        self.random = np.random.default_rng()
        self.copy_rate = None

    def asked(self, case):
        return not self.wanted or any(case.startswith(w) for w in self.wanted)

    def kernel(self, prefix):
        return next((k for name, k in self.kernels.items() if name.startswith(prefix)), None)

    def report(self, case, kernel, time, wrong, rate, peer=""):
        registers, groups = kernel.resources()
        print(f"| {case} | {time * 1e6:.1f} µs | {rate} | {peer} | {wrong:.1e} | {registers} registers, {groups} groups |", flush=True)

    def memory(self, case, kernel, time, wrong, nbytes):
        rate = nbytes / time
        self.report(case, kernel, time, wrong, f"{rate / 1e9:.0f} GB/s", f"{rate / self.copy_rate:.2f} of a copy")

    def copy(self):
        a = torch.rand(512 << 20, device="cuda")
        b = torch.empty_like(a)
        # By the copy engine's command and by a kernel; the faster is the peer.
        time = min(seconds(lambda i: b.copy_(a), 4), seconds(lambda i: torch.neg(a, out=b), 4))
        self.copy_rate = 2 * a.nbytes / time
        print(f"| copy of 2 GiB from device to device, read and written | {time * 1e6:.1f} µs | {self.copy_rate / 1e9:.0f} GB/s | | | |")

    def quantize(self):
        kernel, columns = self.kernel("quantize_q8"), 14336
        x = device(self.random.standard_normal(columns).astype(np.float32))
        data, scales = torch.empty(columns, dtype=torch.int8, device="cuda"), torch.full((columns // 32,), float("nan"), device="cuda")
        run = lambda i: kernel((-(-columns // 32 // kernel.lanes),), (x, data, scales), (0, columns))
        run(0)
        torch.cuda.synchronize()
        found = data.cpu().numpy().reshape(-1, 32) * scales.cpu().numpy().astype(np.float64)[:, None]
        self.memory(f"quantize_q8 {columns}", kernel, seconds(run), error(found.reshape(-1), x.cpu().numpy().astype(np.float64)), columns * 4)

    def matvec(self, name, make, block, rows, columns):
        kernel, count = self.kernel(name), columns // block
        blocks, elements = make(self.random, rows * count)
        w = device(blocks.view(np.uint8).reshape(-1))
        all_w = [w] + [w.clone() for _ in range(copies(w.numel()) - 1)]
        data = self.random.integers(-127, 128, columns, np.int8)
        scales = self.random.uniform(0.5, 1, columns // 32).astype(np.float32)
        x = (data.reshape(-1, 32) * scales.astype(np.float64)[:, None]).reshape(-1)
        y = torch.full((rows,), float("nan"), device="cuda")
        on_device = device(data), device(scales)
        grid = (-(-rows // kernel.info["rows_per_group"]),)
        run = lambda i: kernel(grid, (all_w[i % len(all_w)], *on_device, y), (columns, 0, 0, rows, 0))
        run(0)
        torch.cuda.synchronize()
        found = y.cpu().numpy()
        some = np.unique(np.append(self.random.integers(0, rows, 256), [0, rows - 1]))
        reference = elements(blocks.reshape(rows, count)[some].reshape(-1)).reshape(len(some), columns) @ x
        wrong = error(found[some], reference) if np.isfinite(found).all() else float("nan")
        self.memory(f"{name} {rows} × {columns}", kernel, seconds(run), wrong, w.numel())

    def attention(self, length, heads_per_group, split_length, heads=32, kv_heads=8, dim=128):
        kernel, join = self.kernel(f"attention_f16_r{heads_per_group}c1_splits"), self.kernel("attention_join")
        q = self.random.standard_normal((heads, dim)).astype(np.float32)
        k, v = (self.random.standard_normal((kv_heads, length, dim)).astype(np.float16) for _ in range(2))
        pairs = [(device(k), device(v)) for _ in range(copies(2 * k.nbytes))]
        splits = -(-length // split_length)
        q_device, out = device(q), torch.full((heads, dim), float("nan"), device="cuda")
        parts, stats_offset = torch.full((heads * splits * (dim + 2),), float("nan"), device="cuda"), heads * splits * dim
        bounds, table = (device(np.array(numbers, np.int32)) for numbers in ([0, 1, length], [0]))

        def run(i):
            group = heads // kv_heads
            kernel((group // heads_per_group, kv_heads, splits), (q_device, *pairs[i % len(pairs)], bounds, table, parts),
                   (dim, dim, 0, 0, length * dim, dim, 0, length * dim, dim, group, heads, dim**-0.5, 0, 1, 1, 0, 0, 2, 0, length,
                    stats_offset))
            join((heads,), (parts, out), (dim, splits, heads, stats_offset, 0))

        run(0)
        torch.cuda.synchronize()
        keys, values = (np.repeat(t.astype(np.float64), heads // kv_heads, 0) for t in (k, v))
        scores = np.einsum("hd,hpd->hp", q.astype(np.float64), keys) * dim**-0.5
        weights = np.exp(scores - scores.max(1, keepdims=True))
        reference = np.einsum("hp,hpd->hd", weights / weights.sum(1, keepdims=True), values)
        self.memory(f"attention and join, {heads}/{kv_heads} heads of {dim}, {length} positions, {heads_per_group} heads a group, "
                    f"splits of {split_length}", kernel, seconds(run), error(out.cpu().numpy(), reference), 2 * k.nbytes)

    def matmul(self, name, dtype, block, m, n, depth):
        kernel = self.kernel(name)
        a, b = (self.random.standard_normal(s).astype(np.float32).astype(dtype) for s in ((m, depth), (depth, n)))
        a_device, b_device, c = device(a), device(b), torch.full((m, n), float("nan"), dtype=a_device.dtype, device="cuda")
        # Offset, strides of rows and columns and of batches, of a and b; then where c begins and the batches.
        strides = (0, depth, 1, 0, 0, 0, n, 1, 0, 0, 0, 1, 0)
        run = lambda i: kernel((-(-n // block), -(-m // block)), (a_device, b_device, c), (m, n, depth, *strides))
        run(0)
        torch.cuda.synchronize()
        some = self.random.integers(0, m, 32)
        found = c.cpu().numpy()
        wrong = error(found[some], a[some].astype(np.float64) @ b.astype(np.float64)) if np.isfinite(found).all() else float("nan")
        time, peer = seconds(run, 8), seconds(lambda i: torch.matmul(a_device, b_device), 8)
        work = 2 * m * n * depth / 1e12
        self.report(f"{name} {m} × {depth} × {n}", kernel, time, wrong, f"{work / time:.1f} TFLOP/s",
                    f"{peer / time:.2f} of cuBLAS, {work / peer:.0f} TFLOP/s")

    def run(self):
        shapes = [(4096, 4096), (14336, 4096), (4096, 14336), (128256, 4096)]
        cases = [("quantize_q8", self.quantize)]
        cases += [("matvec_bytes_q8_0", lambda s=s: self.matvec("matvec_bytes_q8_0", q8_0, 32, *s)) for s in shapes]
        cases += [("matvec_bytes_q4_k", lambda s=s: self.matvec("matvec_bytes_q4_k", q4_k, 256, *s)) for s in shapes]
        cases += [("attention_decode", lambda case=case: self.attention(*case)) for case in ATTENTION]
        for m, n, depth in ((4096, 4096, 4096), (512, 14336, 4096)):
            cases.append(("matmul_blocks_f32", lambda m=m, n=n, d=depth: self.matmul("matmul_blocks_f32", np.float32, 64, m, n, d)))
            cases.append(("matmul_tiles", lambda m=m, n=n, d=depth: self.matmul("matmul_tiles", np.float16, 128, m, n, d)))
        print("| kernel | time | rate | peer | error | resources |\n|---|---|---|---|---|---|")
        self.copy()
        for name, case in cases:
            if self.asked(name) and self.kernel(name):
                case()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--compile-only", metavar="ARCHITECTURE", help="such as sm_90")
    arguments = parser.parse_args()
    if not (arguments.folder / "kernels.json").is_file():
        sys.exit(f"kernel_texts: no kernels.json in {arguments.folder}; wick_kernel_texts writes it")
    entries = json.loads((arguments.folder / "kernels.json").read_text())
    if arguments.compile_only:
        for entry in entries:
            size = len(compile_text((arguments.folder / entry["file"]).read_text(), arguments.compile_only))
            print(f"{entry['name']}: {size} bytes")
        return
    global torch
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")
    architecture = "sm_{}{}".format(*torch.cuda.get_device_capability())
    print(f"{torch.cuda.get_device_name()}, {architecture}, PyTorch {torch.__version__}\n")
    driver = library("libcuda.so.1")
    kernels = {e["name"]: Kernel(arguments.folder, e, architecture, driver) for e in entries}
    Bench(kernels, arguments.names).run()


if __name__ == "__main__":
    main()
