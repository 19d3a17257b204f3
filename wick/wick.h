// All of Wick's library: tensors, neural networks and language models.
#pragma once

#include "wick/llm.h"
#include "wick/nn.h"
#include "wick/tensor.h"
