// Whether the sizes that a checkpoint's metadata gives recurrent layers are those of its tensors.
#pragma once

#include "wick/model/checkpoint/model_config.h"
#include "wick/model/description.h"

namespace wick {

// `spec`: of a recurrent architecture. Errors: corrupt_file for a size that does not fit a tensor, and for a number or kinds of layers that
// are not those of the tensors, naming key, value and tensor; and for numbers of a GGUF file's ssm_a above 0, by which states would grow
// without end.
void check_state_sizes(const KeyReader& keys, const DecoderSpec& spec);

}  // namespace wick
