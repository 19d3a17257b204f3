// A Hugging Face folder as a Checkpoint: config.json, and safetensors in one file or in shards with an index.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/formats/gguf.h"
#include "wick/formats/sharded_safetensors.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/checkpoint/hugging_face_quantized.h"

namespace wick {

// Whether the folder holds such a model, by its config.json.
[[nodiscard]] bool is_hugging_face_folder(const std::filesystem::path& folder);

// Errors: those of parse_model_config and ShardedSafetensors::open; unsupported for dtypes that Wick has not; corrupt_file where tensors
// and configuration contradict each other.
[[nodiscard]] Checkpoint open_hugging_face(const std::filesystem::path& folder);

// A configuration by canonical keys.
struct TranslatedConfig {
  const Architecture* architecture = nullptr;
  std::vector<std::pair<std::string, GgufValue>> metadata = {};
  std::map<std::string, std::string, std::less<>> origins = {};  // canonical key to the configuration's
  std::shared_ptr<const void> values = {};                       // keeps texts and arrays alive
  bool tied = false;                                             // the embedding is the head
  bool ties_by_word = false;                                     // the configuration says so, rather than its class
  bool base_class = false;                                       // the class has no head: its tensors need not have one
  bool classifies = false;                                       // the class has a head for scores, in the place of logits
  bool encodes = false;                                          // an encoder, or a decoder that is run as one: it needs no head
  bool whole_state_norm = false;                                 // StoredForm::state_norm is of one group
  bool reads_media = false;                                      // the text model is a part of one that reads images or sound too
  // Whether queries, keys, values and the output, or the feed-forward part, have biases; none where the configuration does not say.
  std::optional<bool> attention_bias = {}, feed_forward_bias = {};

  std::optional<QuantizationConfig> quantization = {};  // none: matrices are stored as they are

  // The share of a head's pairs that rotate in layers without a window, where the others are pairs too (Gemma 4); none: all.
  std::optional<double> rotated_pairs = {};
  // longrope's divisors, which are tensors in GGUF files.
  std::vector<float> short_factors = {}, long_factors = {};

  [[nodiscard]] const GgufValue* find(std::string_view key) const;
};
// Which share of each head rotates: a key between the two functions below, which becomes rope.dimension_count.
inline constexpr const char* kRotaryFactor = "partial_rotary_factor";

// Errors: corrupt_file for what is no JSON object; unsupported for an architecture that Wick has not, naming the nearest that it has, and
// for keys and values that change what is computed and that it has not. Each names the file, the key and the value.
[[nodiscard]] TranslatedConfig parse_model_config(std::span<const std::byte> text, const std::string& name);

// The canonical tensor for a tensor of a folder.
struct CanonicalTensor {
  std::string name;    // its own where no table has it, and empty where nothing is computed with it
  std::string second;  // of the second half, where it holds two
  StoredForm form = StoredForm::as_it_is;
  int64_t expert = -1;  // its place in the stack of that name; -1: it is no part of one
};
[[nodiscard]] CanonicalTensor canonical_tensor(std::string_view stored, const HuggingFaceForm& form);
// The name that the tables have for it: with the base model's prefix ("model."), which folders of a base model omit, and without those of
// a model around it ("language_model.").
[[nodiscard]] std::string name_in_tables(std::string_view stored, const HuggingFaceForm& form);
// The folder's name of the tensor; empty if the tables have none.
[[nodiscard]] std::string stored_name_of(std::string_view canonical, const HuggingFaceForm& form);

// Adds the folder's tensors under their canonical names. Those of images and sound are left out, with a warning. Returns whether there is a
// head. Errors: corrupt_file where two mean the same, or experts are missing; not_found without a head that there should be.
bool add_folder_tensors(Checkpoint::Folder& folder, const ShardedSafetensors& stored, const TranslatedConfig& config);

// The class that has the same text model alone as a "text_config" with this "model_type"; empty where Wick runs none.
[[nodiscard]] std::string_view class_of_text_model(std::string_view model_type);
// Rows of config.json that all architectures share.
[[nodiscard]] std::span<const ConfigRow> shared_config_rows();

}  // namespace wick
