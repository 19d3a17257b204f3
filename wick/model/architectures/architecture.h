// An Architecture is one row of a table: how a checkpoint names it, which metadata it reads, and how that becomes a description.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "wick/model/checkpoint/metadata_keys.h"
#include "wick/model/description.h"
#include "wick/op/op.h"

namespace wick {

class Checkpoint;
struct ModelConfig;

// The canonical key of a key of config.json, in addition to the rows that all architectures share (hugging_face_names.cpp).
struct ConfigRow {
  enum class Use {
    read,            // under `canonical`, "<architecture>." omitted
    zero_if_null,    // the same, and null is 0, where an absent key means something else
    harmless,        // changes no logit
    of_class,        // `key` is a class, or "architectures": all. Its models have `neutral` under `canonical` where nothing else says it
    flag_of_class,   // the same of a boolean
    layer_flags,     // a list with a flag for each layer, or a number n: each n-th has none; not read where n is `neutral`, which is usual
    inner_multiple,  // the feed-forward width as a multiple of the hidden size
    only_text,       // any text but the words of `canonical` (or null) is refused
    only_value       // any value but `neutral` (or null) is refused
  };
  std::string_view key;
  Use use = Use::read;
  std::string_view canonical = {};
  double neutral = 0;          // booleans count as 0 and 1
  std::string_view text = {};  // of_class: in the place of the number
};

// How a folder stores matrices [out, in], one or a stack of them.
enum class StoredForm {
  as_it_is,
  transposed,              // [in, out]
  halves,                  // two: the rows of the first, then those of the second; of each matrix of a stack
  transposed_halves,       // the same of columns
  interleaved_transposed,  // columns of the first and the second alternate
  in_turns,                // the same of biases
  column,                  // a vector [n] as [n, 1]
  minus_exp,               // numbers of which GGUF files have -eˣ
  minus_exp_column,        // the same of a column
  flat,                    // numbers of any shape, as a vector
  stacked,                 // one of several vectors, as a row of [count, 1, 1, length]; the row's number is in the place of `second`
  row_stack,               // experts' matrices one below the other, [count · rows, columns], as a stack
  row_stack_transposed,    // the same of transposed ones
  kernels,                 // of a convolution of each column by itself: [columns, 1, kernel] as [columns, kernel]
  query_key_value_gate,    // rows of each key head: its query, its key, the values and the gates of its value heads
  latent_heads,            // rows of each head's keys and values of latent rows: keys [heads, latent, key], values [heads, value, latent]
  state_norm,              // a vector, as one for each group of "ssm.group_count" (but HuggingFaceForm::state_norm_by_version)
  mxfp4,                   // four-bit floats (OCP MX 2023): NAME_blocks [count, rows, columns / 32, 16] with NAME_scales, both of bytes
  interleaved_mxfp4        // the same with alternating rows of the first and the second
};

// A tensor's name in a folder and its canonical one; "{}" is the layer, and a second one the number of an expert, whose tensors are one
// stack. A canonical name without the first is that of a stack.
struct TensorRow {
  std::string_view stored, canonical;  // without a canonical name nothing is computed with the tensor
  StoredForm form = StoredForm::as_it_is;
  std::string_view second = {};  // the canonical name of the second half
};

// Canonical names between config.json and the tensors, which no GGUF file has: the id of the padding token, and whether position_embd has
// rows for it and those before it, which no text uses.
inline constexpr std::string_view kPaddingToken = "padding_token";
inline constexpr std::string_view kPositionsAfterPadding = "positions_after_padding";

struct HuggingFaceForm {
  std::span<const std::string_view> classes = {};  // of config.json's "architectures"
  std::span<const ConfigRow> config = {};
  std::span<const TensorRow> tensors = {};  // asked before the shared ones
  // Prefixes of tensors in models with a head; the rows have none of them. Empty: that of the embedding's row.
  std::span<const std::string_view> bases = {};
  RopeStyle rope = RopeStyle::half_split;
  bool tied_by_default = false;    // where the configuration does not say
  float norm_offset = 0;           // what is added to the stored weights of norms
  bool transposed = false;         // matrices of layers are stored [in, out]
  bool qkv_by_head = false;        // rows of attn_qkv are each head's query, key and value, where GGUF has all queries first
  bool ignore_mtp_layers = false;  // layers after the last, or under "mtp.", which predict further tokens
  bool qkv_by_group = false;       // the same of groups: the queries of a key/value head, its key, its value
  // GGUF files have the value heads of a delta rule in turns of the key heads, where folders have those of each key head together.
  bool interleaves_value_heads = false;
  bool splits_qkv = false;     // GGUF files have three matrices in the place of attn_qkv
  int64_t inner_multiple = 0;  // of the hidden size: the feed-forward width where the configuration does not say
  double usual_rotary_factor = 1;
  bool turns_partly = false;  // partial_rotary_factor counts, as where there is a usual one; others turn whole heads, whatever it says
  bool state_norm_by_version = false;  // transformers 5.0 to 5.17 have one norm over all groups, in the place of one for each
  bool splits_latent_heads = false;    // GGUF files have latent attention with one key/value head, as wide as the cached rows
  bool halves_width = false;           // the feed-forward width is half of the one that is said (RecurrentGemma)
  bool adjusts_width = false;          // the feed-forward width is two thirds of the one that is said, rounded up (LFM2)
  std::string_view step_rank = {};     // config.json's key of the rank of Mamba's time steps, which may be "auto"
  bool scales_rope_base = false;       // RoPE scaling of type "ntk": the base times its factor, at all lengths (GTE)
  // Rows of learned positions before that of the first token, which the number of positions does not count (BART).
  int64_t unused_positions = 0;
  double yarn_log_unit = 0;  // what GGUF files multiply YaRN's mscale_all_dim by; 0: it is refused
};

// A key that llama.cpp wants of a GGUF file and Wick has no need of. `wick convert` writes it with the value that all of its sources have,
// and leaves it out where they differ.
struct WantedKey {
  std::string_view name;
  std::array<std::string_view, 3> sources = {};  // names of keys, without the architecture; empty: none
};

struct Architecture {
  std::string_view name;    // general.architecture
  std::string_view models;  // of this architecture, as people call them: for docs/models.md
  DecoderSpec (*describe)(const ModelConfig& config);
  RopeStyle gguf_rope = RopeStyle::half_split;
  nn::ActivationKind activation = nn::ActivationKind::silu;  // of the feed-forward part, where the checkpoint does not say
  bool experts = false;                                      // may be a mixture of experts
  // Some layers keep a state in the place of keys and values, or beside them: they may have no heads, and no feed-forward part.
  bool recurrent = false;
  bool encoder = false;          // DecoderSpec::encoder
  bool encoder_decoder = false;  // DecoderSpec::source
  // The scales that GGUF files give for matrices of feed-forward parts count. For others they do for NVFP4 alone, as in llama.cpp.
  bool scaled_feed_forward = false;
  // Keys that it reads beyond the shared ones, and other meanings of these.
  std::span<const KeyRule> keys = {};
  std::span<const WantedKey> wanted = {};
  // GGUF files name the pairs of a head that turn by the time, height and width of an image, those of a text too.
  bool wants_sections = false;
  HuggingFaceForm hugging_face = {};
};

// In the order of docs/models.md.
[[nodiscard]] std::span<const Architecture* const> architectures();
// nullptr if there is none.
[[nodiscard]] const Architecture* find_architecture(std::string_view name);
// Finds an architecture by the class name in transformers, such as "LlamaForCausalLM".
[[nodiscard]] const Architecture* find_architecture_of_class(std::string_view name);

}  // namespace wick
