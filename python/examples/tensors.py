"""Tensors: arithmetic, indexing, NumPy and gradients.

    python python/examples/tensors.py
"""
from __future__ import annotations

import wick


def main() -> None:
    x = wick.arange(12, dtype=wick.float32).reshape(3, 4)
    print(x[:, ::-1] * 2 + 1)
    print(x[x > 5].tolist(), (x > 5).dtype)
    print((x @ x.T).shape, x.mean(1).tolist())

    # The gradient of a least-squares fit of y = 2 a + 1.
    a = wick.linspace(0, 1, 20).reshape(-1, 1)
    y = 2 * a + 1
    slope, offset = wick.Var([0.0]), wick.Var([0.0])
    for _ in range(300):
        loss = ((slope * a + offset - y) ** 2).mean()
        loss.backward()
        for variable in (slope, offset):
            gradient = variable.grad
            assert gradient is not None
            variable.set(variable.detach() - 0.5 * gradient)
            variable.grad = None
    print(f"slope {slope.item():.2f}, offset {offset.item():.2f}")


main()
