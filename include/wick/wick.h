// All of Wick's library: tensors and neural networks. Files, tokenizers and language models have headers of their own in their rooms:
// "formats/gguf.h", "text/tokenizer.h", "model/llama.h", "engine/generator.h".
#pragma once

#include <wick/nn.h>
#include <wick/tensor.h>
