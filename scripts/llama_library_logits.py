#!/usr/bin/env python3
"""Writes the logits that llama.cpp computes after each token, by a shared library with its C API, such as the module of PyPI's xllamacpp.

    scripts/llama_library_logits.py LIBRARY MODEL.gguf 3,17,5 OUT.npy

The cache is f32, and flash attention is off. Parameters are found in llama.cpp's structures by their default values, as their places differ
from version to version."""
import ctypes
import struct
import sys

import numpy

WORDS = 64  # the structures of parameters are smaller


class Parameters(ctypes.Structure):
    _fields_ = [("words", ctypes.c_int32 * WORDS)]


class Batch(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int32), ("tokens", ctypes.POINTER(ctypes.c_int32)), ("embeddings", ctypes.c_void_p),
                ("positions", ctypes.POINTER(ctypes.c_int32)), ("sequence_counts", ctypes.POINTER(ctypes.c_int32)),
                ("sequences", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))), ("outputs", ctypes.POINTER(ctypes.c_int8))]


def open_library(path):
    library = ctypes.CDLL(path)
    pointer, whole = ctypes.c_void_p, ctypes.c_int32
    for name, result, arguments in [("llama_model_default_params", Parameters, []), ("llama_context_default_params", Parameters, []),
                                    ("llama_model_load_from_file", pointer, [ctypes.c_char_p, Parameters]),
                                    ("llama_init_from_model", pointer, [pointer, Parameters]), ("llama_batch_init", Batch, [whole] * 3),
                                    ("llama_decode", whole, [pointer, Batch]), ("llama_model_get_vocab", pointer, [pointer]),
                                    ("llama_vocab_n_tokens", whole, [pointer]),
                                    ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), [pointer, whole])]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def context_parameters(library, context):
    parameters = library.llama_context_default_params()
    words = parameters.words
    # n_ctx, n_batch, n_ubatch; then rope scaling, pooling, attention type and flash attention are -1; types of keys and values are 1, f16.
    unset = next(at for at in range(WORDS - 4) if words[at:at + 4] == [-1] * 4)
    types = next(at for at in range(unset + 4, WORDS - 1) if at % 2 == 0 and words[at:at + 2] == [1, 1])
    words[0], words[unset + 3], words[types], words[types + 1] = context, 0, 0, 0
    return parameters


def main():
    path, model, tokens, out = sys.argv[1:]
    tokens = [int(token) for token in tokens.split(",")]
    library = open_library(path)
    log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
    errors = log(lambda level, text, _: sys.stderr.write(text.decode(errors="replace")) if level == 4 else None)
    library.llama_log_set(errors, None)
    library.llama_backend_init()
    loaded = library.llama_model_load_from_file(model.encode(), library.llama_model_default_params())
    context = loaded and library.llama_init_from_model(loaded, context_parameters(library, 256))
    if not context:
        sys.exit(1)
    batch = library.llama_batch_init(len(tokens), 0, 1)
    batch.count = len(tokens)
    for at, token in enumerate(tokens):
        batch.tokens[at], batch.positions[at], batch.outputs[at] = token, at, 1
        batch.sequence_counts[at], batch.sequences[at][0] = 1, 0
    if library.llama_decode(context, batch) != 0:
        sys.exit("llama_decode failed")
    vocabulary = library.llama_vocab_n_tokens(library.llama_model_get_vocab(loaded))
    numpy.save(out, [numpy.ctypeslib.as_array(library.llama_get_logits_ith(context, at), (vocabulary,)) for at in range(len(tokens))])


if __name__ == "__main__":
    main()
