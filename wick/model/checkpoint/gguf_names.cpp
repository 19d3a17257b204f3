#include "wick/model/checkpoint/gguf_names.h"

namespace wick {
namespace {

constexpr std::string_view kOfEncoder = "enc.", kOfDecoder = "dec.", kFileOutput = ".attn_o.", kOwnOutput = ".attn_output.";
constexpr std::string_view kBareNorm = ".ffn_norm", kNorm = ".ffn_norm.weight";

bool has_encoder_names(std::string_view architecture) { return architecture == "t5encoder"; }
// Both parts have their prefixes in the canonical names too.
bool has_both_names(std::string_view architecture, std::string_view name) {
  return (architecture == "t5" || architecture == "bart") && (name.starts_with(kOfEncoder) || name.starts_with(kOfDecoder));
}

std::string replaced(std::string name, std::string_view from, std::string_view to) {
  if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  return name;
}

}  // namespace

std::string canonical_of_gguf(std::string_view architecture, std::string_view name) {
  if (name.starts_with("blk.") && name.ends_with(kBareNorm)) return std::string(name) + ".weight";
  if (has_both_names(architecture, name)) return replaced(std::string(name), "attn_o.", "attn_output.");
  if (!has_encoder_names(architecture) || !name.starts_with(kOfEncoder)) return std::string(name);
  return replaced(std::string(name.substr(kOfEncoder.size())), kFileOutput, kOwnOutput);
}

std::string gguf_of_canonical(std::string_view architecture, std::string_view name) {
  if (architecture == "falcon-h1" && name.ends_with(kNorm)) return std::string(name.substr(0, name.rfind('.')));
  if (has_both_names(architecture, name)) return replaced(std::string(name), "attn_output.", "attn_o.");
  const bool of_encoder = name.starts_with("blk.") || name.starts_with("output_norm.");
  if (!has_encoder_names(architecture) || !of_encoder) return std::string(name);
  return std::string(kOfEncoder) + replaced(std::string(name), kOwnOutput, kFileOutput);
}

}  // namespace wick
