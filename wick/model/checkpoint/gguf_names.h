// Tensors of GGUF files by canonical names, where an architecture's files call them otherwise: "enc.blk.0.attn_o" of T5's encoder is
// "blk.0.attn_output", "dec.blk.0.cross_attn_o" of T5 "dec.blk.0.cross_attn_output", and "blk.0.ffn_norm" of Falcon-H1
// "blk.0.ffn_norm.weight".
#pragma once

#include <string>
#include <string_view>

namespace wick {

[[nodiscard]] std::string canonical_of_gguf(std::string_view architecture, std::string_view name);
[[nodiscard]] std::string gguf_of_canonical(std::string_view architecture, std::string_view name);

}  // namespace wick
