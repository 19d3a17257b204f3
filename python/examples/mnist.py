"""A classifier of digits, trained on MNIST's IDX files; without a folder, on digits drawn at random.

    python python/examples/mnist.py [FOLDER]
"""
from __future__ import annotations

import sys

import wick
from wick import nn


def random_digits(count: int) -> tuple[wick.Tensor, wick.Tensor]:
    """Ten prototypes and noise: a stand-in for files that are not there."""
    device = wick.Device("cpu")
    device.set_seed(1)
    prototypes = wick.rand((10, 1, 28, 28), device=device)
    targets = (wick.rand((count,), device=device) * 10).to(wick.int64)
    return prototypes.index_select(targets, 0) + 0.3 * wick.randn((count, 1, 28, 28), device=device), targets


def main() -> None:
    inputs, targets = nn.load_mnist(sys.argv[1]) if len(sys.argv) > 1 else random_digits(1000)
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))
    optimizer = nn.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(3):
        model.train()
        for images, labels in nn.DataLoader(inputs, targets, batch_size=50, shuffle=True):
            optimizer.zero_grad()
            loss = nn.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
        model.eval()
        right = (model(inputs).argmax(1) == targets).to(wick.float32).mean()
        print(f"epoch {epoch + 1}: {right.item():.3f} right")
    wick.save_tensors(model.state_dict(), "mnist.safetensors")


main()
