#!/usr/bin/env python3
"""Writes sampling.txt: what each step of sampling leaves of a list of logits, computed with numpy from the formulas of the papers.

    python3 tests/data/engine/make_sampling.py > tests/data/engine/sampling.txt

A line: step, parameter, the logits, "=", the tokens that are left, sorted (for dry: text "|" logits "=" logits afterwards).
"""
import numpy as np

random = np.random.default_rng(5)


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def typical(logits, p):
    # Meister et al. 2022: sort by |-ln p - H|, take the fewest that sum to p.
    probabilities = softmax(logits)
    entropy = -(probabilities * np.log(probabilities)).sum()
    order = np.argsort(np.abs(-np.log(probabilities) - entropy), kind="stable")
    count = int(np.searchsorted(np.cumsum(probabilities[order]), p)) + 1
    return order[:count]


def top_n_sigma(logits, n):
    # Tang et al. 2024: logit >= max - n sigma.
    return np.nonzero(logits >= logits.max() - n * logits.std())[0]


def xtc(logits, threshold):
    # p-e-w: all tokens at or above the threshold but the least likely of them go.
    probabilities = softmax(logits)
    above = [index for index in np.argsort(-probabilities, kind="stable") if probabilities[index] >= threshold]
    return np.array([index for index in range(len(logits)) if index not in above[:-1]])


def mirostat2(logits, mu):
    # Basu et al. 2020, algorithm 2: surprise of at most mu bits; at least one token.
    surprise = -np.log2(softmax(logits))
    kept = np.nonzero(surprise <= mu)[0]
    return kept if len(kept) else np.array([int(np.argmax(logits))])


def mirostat1(logits, mu):
    # Basu et al. 2020, algorithm 1: s by least squares, k = ((s - 1) 2^mu / (1 - N^-(s - 1)))^(1 / s).
    probabilities = np.sort(softmax(logits))[::-1]
    count = min(100, len(probabilities))
    i = np.arange(1, count)
    t = np.log((i + 1) / i)
    b = np.log(probabilities[:count - 1] / probabilities[1:count])
    s = (t * b).sum() / (t * t).sum()
    epsilon = s - 1
    k = (epsilon * 2**mu / (1 - len(logits)**-epsilon))**(1 / s)
    k = min(len(logits), max(1, round(k)))
    return np.argsort(-logits, kind="stable")[:k]


def dry(text, logits, multiplier, base, allowed, breakers):
    # p-e-w: for each token that followed an earlier occurrence of the text's end, the longest such occurrence.
    lengths = {}
    if text[-1] not in breakers:
        for index in range(len(text) - 1):
            if text[index] != text[-1]:
                continue
            follower = text[index + 1]
            if follower in breakers:
                continue
            length = 1
            while length <= index and text[index - length] == text[-1 - length] and text[-1 - length] not in breakers:
                length += 1
            lengths[follower] = max(lengths.get(follower, 0), length)
    result = logits.copy()
    for token, length in lengths.items():
        if length >= allowed:
            result[token] -= multiplier * base**(length - allowed)
    return result


def numbers(values):
    return " ".join(f"{value:.9g}" for value in values)


def main():
    for name, step, parameters in [("typical_p", typical, [0.2, 0.5, 0.9, 0.99]), ("top_n_sigma", top_n_sigma, [0.5, 1, 2, 3]),
                                   ("xtc", xtc, [0.01, 0.1, 0.3, 0.6]), ("mirostat2", mirostat2, [0.5, 2, 4, 9]),
                                   ("mirostat1", mirostat1, [1, 2, 3, 5])]:
        for parameter in parameters:
            for size in (7, 60, 300):
                logits = np.float32(random.normal(0, 2, size)).astype(np.float64)
                print(f"{name} {parameter} {numbers(logits)} = {' '.join(str(int(index)) for index in sorted(step(logits, parameter)))}")
    for _ in range(12):
        text = [int(value) for value in random.integers(0, 4, 30)]
        logits = np.float32(random.normal(0, 2, 5)).astype(np.float64)
        allowed = int(random.integers(1, 4))
        print(f"dry {allowed} {numbers(text)} | {numbers(logits)} = {numbers(dry(text, logits, 0.8, 1.75, allowed, {3}))}")


main()
