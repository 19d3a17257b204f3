"""Writes tests/data/goldens: python3 tests/goldens/make [family ...]. Needs python3-torch and python3-numpy; tests need neither."""

import sys
from pathlib import Path

import torch

import cast
import display
import elementwise
import index
import network
import product
import random_numbers
import reduce

FAMILIES = [elementwise.unary, elementwise.binary, elementwise.compare, elementwise.kinks, reduce.reductions, reduce.sorts, reduce.softmaxes, reduce.norms,
            index.selections, index.absences, index.moves, product.products, product.convolutions, product.windows,
            network.attentions, network.losses, network.optimizers, network.recurrent, network.layers, cast.casts, display.display, random_numbers.random_numbers]


def main():
    torch.set_num_threads(1)
    folder = Path(__file__).resolve().parents[2] / "data" / "goldens"
    cases = size = 0
    for make in FAMILIES:
        if len(sys.argv) > 1 and make.__name__ not in sys.argv[1:]:
            continue
        count, text, data = make().write(folder)
        print(f"{make.__name__}: {count} cases, {text} bytes of index, {data} bytes of values")
        cases, size = cases + count, size + text + data
    print(f"{cases} cases, {size} bytes")


if __name__ == "__main__":
    main()
