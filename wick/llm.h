// Language models: load a file, tokenize, generate, stream, sample.
#pragma once

#include "wick/base/error.h"
#include "wick/engine/chat.h"
#include "wick/engine/llm.h"
#include "wick/engine/sampling.h"
#include "wick/text/grammar/token_constraint.h"
#include "wick/text/tokenizer/tokenizer.h"
