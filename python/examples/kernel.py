"""A kernel of one's own: x + residual and its RMS norm in one launch, on every device of this machine.

    kernel.py [DEVICE…]
"""
import sys

import wick
from wick import ir

GROUP = 64
EPSILON = 1e-5


def add_rms_norm() -> ir.Kernel:
    """sum = x + residual, y = sum / √(mean(sum²) + epsilon) · weight; a group of lanes for each row."""
    k = ir.KernelBuilder("add_rms_norm", group_size=GROUP)
    x, residual, weight = k.buffer("x", "f32"), k.buffer("residual", "f32"), k.buffer("weight", "f32")
    total, y = k.output("sum", "f32"), k.output("y", "f32")
    columns, epsilon = k.parameter("columns", "u32"), k.parameter("epsilon", "f32")
    row = k.group_id() * columns
    squares = k.variable(0.0)

    @k.loop(k.local_id(), columns, GROUP)
    def _add(i: ir.Value) -> None:
        added = x[row + i] + residual[row + i]
        total[row + i] = added
        squares.set(squares + added * added)

    scale = 1.0 / ir.sqrt(k.group_reduce("add", squares) / ir.cast("f32", columns) + epsilon)

    @k.loop(k.local_id(), columns, GROUP)
    def _norm(i: ir.Value) -> None:
        y[row + i] = total[row + i] * scale * weight[i]

    return k.finish()


def run_on(device: wick.Device, rows: int = 32, columns: int = 200) -> float:
    """The largest difference from the library's own functions."""
    device.set_seed(1)
    x, residual = wick.randn((rows, columns), device=device), wick.randn((rows, columns), device=device)
    weight = wick.rand((columns,), device=device, low=0.5, high=1.5)
    total, y = wick.empty_like(x), wick.empty_like(x)
    device.compile(add_rms_norm()).launch(rows, [x, residual, weight, total, y], [columns, EPSILON])
    both = x + residual
    expected = both / (both.sqr().mean(-1, True) + EPSILON).sqrt() * weight
    return max((total - both).abs().max().item(), (y - expected).abs().max().item())


for name in sys.argv[1:] or ["cpu"]:
    device = wick.Device(name)
    print(f"{name:10} largest difference {run_on(device):.1e}  {device.name}")
