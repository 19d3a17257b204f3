// Language models: read a GGUF file, tokenize, generate.
#pragma once

#include "wick/engine/generator.h"
#include "wick/formats/gguf.h"
#include "wick/model/language_model.h"
#include "wick/text/tokenizer.h"
