"""Kernels in Python and in the devices' own languages, on every device of the machine."""
import gc
import re

import numpy as np
import pytest

import wick
from wick import ir

DEVICES = [row["device"] for row in wick.devices()]


def scale_kernel(group=64):
    k = ir.KernelBuilder("scale", group_size=group)
    x, y = k.buffer("x", "f32"), k.output("y", "f32")
    n, factor = k.parameter("n", "u32"), k.parameter("factor", "f32")
    i = k.group_id() * group + k.local_id()

    @k.when(i < n)
    def _():
        y[i] = x[i] * factor

    return k.finish()


@pytest.mark.parametrize("device", DEVICES)
def test_a_kernel_runs_on_every_device(device):
    on = wick.Device(device)
    a = np.arange(1000, dtype=np.float32)
    x, y = wick.tensor(a, device=on), wick.zeros(1000, device=on)
    compiled = on.compile(scale_kernel())
    assert compiled.name == "scale" and compiled.device == on
    compiled.launch(16, [x, y], [1000, 2.5])
    np.testing.assert_array_equal(y.numpy(), a * np.float32(2.5))


@pytest.mark.parametrize("device", DEVICES)
def test_loops_variables_shared_memory_and_atomics(device):
    k = ir.KernelBuilder("statistics", group_size=32)
    x, sums, counts = k.buffer("x", "i32"), k.output("sums", "f32"), k.output("counts", "u32")
    n = k.parameter("n", "u32")
    shared = k.shared("f32", 32)
    total = k.variable(0.0)

    @k.loop(k.local_id(), n, 32)
    def _(i):
        value = x[k.group_id() * n + i]
        total.set(total + ir.cast("f32", ir.select(value < 0, -value, value)))

        @k.when((value & 1) == 1)
        def _():
            counts.atomic("add", k.group_id(), 1)

    shared[k.local_id()] = total
    k.barrier()

    @k.when(k.local_id() == 0)
    def _():
        whole = k.variable(0.0)

        @k.loop(0, 32)
        def _(lane):
            whole.set(whole + shared[lane])

        sums[k.group_id()] = whole

    on = wick.Device(device)
    a = np.random.default_rng(3).integers(-50, 50, (4, 100), dtype=np.int32)
    sums, counts = wick.zeros(4, device=on), wick.zeros(4, "u32", device=on)
    on.compile(k.finish()).launch(4, [wick.tensor(a, device=on), sums, counts], [100])
    np.testing.assert_array_equal(sums.numpy(), np.abs(a).sum(1))
    np.testing.assert_array_equal(counts.numpy(), (a % 2 == 1).sum(1))


@pytest.mark.parametrize("device", DEVICES)
def test_functions_of_numbers(device):
    k = ir.KernelBuilder("functions", group_size=16)
    x, y = k.buffer("x", "f32"), k.output("y", "f32")
    i = k.local_id()
    v = x[i]
    results = [ir.exp(v), ir.log(ir.abs(v) + 1), ir.sqrt(ir.max(v, 0.0)), ir.fma(v, v, 1.0), 1.0 / (v + 10.0), ir.trunc(v), ir.min(v, 0.25)]
    for place, result in enumerate(results):
        y[i * len(results) + place] = result
    on = wick.Device(device)
    a = np.linspace(-3, 3, 16, dtype=np.float32)
    y = wick.zeros((16, len(results)), device=on)
    on.compile(k.finish()).launch(1, [wick.tensor(a, device=on), y])
    expected = [np.exp(a), np.log(np.abs(a) + 1), np.sqrt(np.maximum(a, 0)), a * a + 1, 1 / (a + 10), np.trunc(a), np.minimum(a, np.float32(0.25))]
    np.testing.assert_allclose(y.numpy().T, expected, rtol=2e-5, atol=2e-6)


SOURCES = {
    "opencl": ("opencl", "scale", "__kernel void scale(__global const float* x, __global float* y, uint n, float factor) {"
                                  " uint i = get_global_id(0); if (i < n) y[i] = x[i] * factor; }"),
    "vulkan": ("glsl", "main", "#version 450\nlayout(local_size_x = 64) in;\nlayout(set = 0, binding = 0) readonly buffer X { float x[]; };\n"
                               "layout(set = 0, binding = 1) buffer Y { float y[]; };\nlayout(push_constant) uniform P { uint n; float factor; };\n"
                               "void main() { uint i = gl_GlobalInvocationID.x; if (i < n) y[i] = x[i] * factor; }\n"),
}
ARGUMENTS = {"group_size": 64, "buffers": [("x", "f32"), ("y", "f32", "write")], "scalars": [("n", "u32"), ("factor", "f32")], "name": "scale"}


@pytest.mark.parametrize("device", [device for device in DEVICES if device.split(":")[0] in SOURCES])
def test_a_kernel_in_the_device_s_language(device):
    language, entry, text = SOURCES[device.split(":")[0]]
    on = wick.Device(device)
    a = np.arange(500, dtype=np.float32)
    y = wick.zeros(500, device=on)
    on.compile_source(text, language, entry, **ARGUMENTS).launch(8, [wick.tensor(a, device=on), y], [500, 0.5])
    np.testing.assert_array_equal(y.numpy(), a / 2)
    with pytest.raises(wick.Error) as info:
        on.compile_source(text.replace("factor", "+", 1), language, entry, **ARGUMENTS)
    assert "scale" in str(info.value)


def test_a_language_that_the_device_does_not_speak_is_refused():
    with pytest.raises(NotImplementedError, match="no source texts"):
        wick.Device("cpu").compile_source("x", "opencl", "scale", **ARGUMENTS)
    with pytest.raises(ValueError, match="there are cuda, hip, opencl, glsl, spirv"):
        wick.Device("cpu").compile_source("x", "fortran", "scale")
    with pytest.raises(ValueError, match="'write'"):
        wick.Device("cpu").compile_source("x", "opencl", "scale", buffers=[("x", "f32", "read")])


def test_mistakes_in_kernels_are_python_errors():
    k = ir.KernelBuilder("k", group_size=4)
    x, n = k.output("x", "f32"), k.parameter("n", "u32")
    other = ir.KernelBuilder("other")
    cases = [(lambda: x[0] + n, TypeError, "f32"), (lambda: n + other.parameter("m", "u32"), ValueError, "another kernel"),
             (lambda: bool(n < 3), TypeError, "when"), (lambda: x["a"], TypeError, "str"), (lambda: k.buffer("b", "f31"), ValueError, "f32"),
             (lambda: k.parameter("m", "q4"), ValueError, "u32"), (lambda: ir.min(1, 2), TypeError, "numbers alone"),
             (lambda: x.atomic("sub", 0, 1.0), ValueError, "exchange"), (lambda: k.loop(0, n, 0), ValueError, "step"),
             (lambda: k.variable(True), TypeError, "True")]
    for call, error, words in cases:
        with pytest.raises(error, match=re.escape(words)):
            call()

    def body(_):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        ir.KernelBuilder("j").loop(0, 4)(body)
    x[k.local_id()] = 1.0
    kernel = k.finish()
    with pytest.raises(ValueError, match="finished"):
        k.local_id()
    with pytest.raises(ValueError, match="finished"):
        x[0] = 1.0
    compiled = wick.Device("cpu").compile(kernel)
    for groups, tensors, parameters, error in [(1, [wick.zeros(4)], [], ValueError), (0, [wick.zeros(4)], [1], ValueError), (1, [], [1], ValueError),
                                               (1, [wick.zeros(4, "f64")], [1], TypeError), (1, [wick.zeros(4)], [-1], OverflowError),
                                               (1, [wick.zeros(4)], ["a"], TypeError), (1, [3], [1], TypeError),
                                               (1, [wick.zeros((4, 2))[:, 0]], [1], NotImplementedError)]:
        with pytest.raises(error) as info:
            compiled.launch(groups, tensors, parameters)
        assert "\n" not in str(info.value)


def test_values_outlive_their_builder():
    value = ir.KernelBuilder("gone").parameter("n", "u32") + 1
    gc.collect()
    assert (value * 2).type == "u32"


@pytest.mark.parametrize("lanes", [1, 2, 3, 48, 63, 64])
def test_a_group_of_any_size_is_reduced(lanes):
    k = ir.KernelBuilder("reduced", group_size=lanes)
    total, largest = k.output("total", "f32"), k.output("largest", "f32")
    value = ir.cast("f32", k.local_id() + 1)
    total[k.local_id()] = k.group_reduce("add", value)
    largest[k.local_id()] = k.group_reduce("maximum", value)
    sums, maxima = wick.zeros(lanes), wick.zeros(lanes)
    wick.Device("cpu").compile(k.finish()).launch(1, [sums, maxima], [])
    assert sums.tolist() == [lanes * (lanes + 1) / 2] * lanes and maxima.tolist() == [lanes] * lanes
