// A LoraAdapter is a low-rank adapter as files hold it: a GGUF file (general.type "adapter", as llama.cpp writes them), or a PEFT folder
// (adapter_config.json and adapter_model.safetensors).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wick/layout/dtype.h"
#include "wick/layout/shape.h"
#include "wick/model/architectures/architecture.h"
#include "wick/op/op.h"

namespace wick {

// One half of a pair, in the file.
struct LoraMatrix {
  std::string stored;  // the file's name of it, for messages
  DType dtype = DType::f32;
  Shape shape = {};
  std::span<const std::byte> data = {};

  [[nodiscard]] std::vector<float> to_floats() const;
};

// The addition to one matrix [rows, columns] of the model: scale · b · a.
struct LoraPair {
  std::string weight;  // canonical: "blk.0.attn_q.weight"
  LoraMatrix a;        // [rank, columns]
  LoraMatrix b;        // [rows, rank]
  double scale = 1;    // alpha / rank, or alpha / √rank (rsLoRA, Kalajdzievski 2023)
};

class LoraAdapter {
 public:
  // `architecture`: the model's that it is for. Errors: not_found, io; corrupt_file for files that contradict themselves; unsupported for
  // an adapter of another architecture or kind (DoRA, biases, whole modules), and for tensors that nothing is known of; shape_mismatch for
  // halves that do not fit together; each names the file, the tensor or key, and what to do.
  [[nodiscard]] static std::shared_ptr<const LoraAdapter> open(const std::filesystem::path& path, const Architecture& architecture);

  // The path, for messages.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::span<const LoraPair> pairs() const noexcept { return pairs_; }
  // The row of pair.b for each row of the model's matrix, whose rotated heads lie in this style: files order the rows of attn_q and attn_k
  // (Checkpoint::rope_style), and those of attn_qkv, in different ways.
  [[nodiscard]] std::vector<int64_t> source_rows(const LoraPair& pair, const DecoderSpec& spec, RopeStyle style) const;
  // alpha as the file says it for most pairs; 0: nothing is scaled.
  [[nodiscard]] double alpha() const noexcept { return alpha_; }
  // A hash of all that it computes with, the same in each process.
  [[nodiscard]] uint64_t identity() const noexcept { return identity_; }

 private:
  LoraAdapter() = default;
  void read_gguf(const std::filesystem::path& path, const Architecture& architecture);
  void read_peft(const std::filesystem::path& folder, const Architecture& architecture);

  std::string name_;
  std::vector<LoraPair> pairs_;
  RopeStyle rope_style_ = RopeStyle::half_split;  // of attn_q and attn_k
  bool qkv_by_head_ = false;                      // rows of attn_qkv are each head's query, key and value
  double alpha_ = 0;
  uint64_t identity_ = 0;
  std::shared_ptr<const void> file_;  // keeps the data alive
};

}  // namespace wick
