// A Checkpoint is a trained model as files hold it: metadata by canonical key and tensors by canonical name, whatever the files are.
//
// Canonical are the keys and names that GGUF files have ("<architecture>.block_count", "blk.0.attn_q.weight"), with their meaning. What is
// stored otherwise in a Hugging Face folder is translated by the tables of its architecture (hugging_face.h); one difference stays, as it
// needs no copy of the weights then: in which order the elements of a rotated head lie (rope_style()).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/mapped_file.h"
#include "wick/formats/gguf.h"
#include "wick/layout/dtype.h"
#include "wick/layout/shape.h"
#include "wick/op/op.h"
#include "wick/text/chat/chat_template.h"

namespace [[gnu::visibility("default")]] wick {
class Tokenizer;
}  // namespace wick

namespace wick {

struct Architecture;

struct CheckpointTensor {
  std::string name;    // canonical
  std::string stored;  // the file's own name, for messages
  DType dtype = DType::f32;
  Shape shape = {};
  std::span<const std::byte> data = {};
  std::shared_ptr<const MappedFile> file = {};  // the mapping that holds data; none where it was computed
  std::shared_ptr<const void> owner = {};       // keeps data alive
  // Writes the elements of a tensor that no file holds as it is (experts that are stored one by one, transposed stacks); `data` is empty
  // then, and they are in memory once somebody wants them.
  std::function<void(std::span<std::byte>)> compose = {};

  [[nodiscard]] uint64_t bytes() const;
  // With its data in memory, as it is where they are anyway.
  [[nodiscard]] CheckpointTensor composed() const;
  // Its elements as f32.
  [[nodiscard]] CheckpointTensor as_f32() const;
  // With its data in memory and its dtype weight_dtype(dtype).
  [[nodiscard]] CheckpointTensor as_weight() const;
};

// The dtype in which models compute with weights that files store as `stored`: f32 for f64, f16 for f8e4m3, all of whose numbers it holds,
// and the stored one otherwise.
[[nodiscard]] DType weight_dtype(DType stored) noexcept;
// Every weight, norm and bias is of a float dtype or in quantized blocks. Errors: unsupported for integers, naming the checkpoint, the
// tensor and its type.
void check_weight_dtype(const CheckpointTensor& tensor, std::string_view checkpoint);

class Checkpoint {
 public:
  // A GGUF file (of a split one, the first part), or a folder with config.json and safetensors. Tensors are mapped, never copied.
  // Errors: those of GgufFile::open and open_hugging_face.
  [[nodiscard]] static Checkpoint open(const std::filesystem::path& path);
  // `file` must outlive the checkpoint.
  [[nodiscard]] static Checkpoint view(const GgufFile& file);
  explicit Checkpoint(GgufFile file);

  // A folder's metadata and tensors by canonical names.
  struct Folder {
    std::filesystem::path path;
    const Architecture* architecture = nullptr;
    std::vector<std::pair<std::string, GgufValue>> metadata = {};
    std::map<std::string, std::string, std::less<>> origins = {};  // canonical key to file and key, "config.json: …"
    std::shared_ptr<const void> values = {};                       // keeps strings and arrays of `metadata` alive
    std::vector<CheckpointTensor> tensors = {};
    uint64_t file_bytes = 0;
  };
  explicit Checkpoint(Folder folder);

  // The path, for messages.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] uint64_t file_bytes() const noexcept { return file_bytes_; }
  // nullptr for a folder.
  [[nodiscard]] const GgufFile* gguf() const noexcept { return gguf_.get(); }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  // RoPE style of the stored queries and keys. An architecture's GGUF files may differ from its folders.
  [[nodiscard]] RopeStyle rope_style(const Architecture& architecture) const noexcept;

  [[nodiscard]] std::span<const CheckpointTensor> tensors() const noexcept { return tensors_; }
  // nullptr if absent.
  [[nodiscard]] const CheckpointTensor* find_tensor(std::string_view name) const noexcept;

  // By canonical key, all in the file's order.
  [[nodiscard]] std::vector<std::string_view> keys() const;
  [[nodiscard]] const GgufValue* find(std::string_view key) const noexcept;
  // Typed access, as GgufFile has it. Errors: not_found (get_…), corrupt_file for a value of another kind, naming file and key.
  [[nodiscard]] uint64_t get_uint(std::string_view key) const;
  [[nodiscard]] std::string_view get_string(std::string_view key) const;
  [[nodiscard]] std::optional<uint64_t> find_uint(std::string_view key) const;
  [[nodiscard]] std::optional<double> find_float(std::string_view key) const;
  [[nodiscard]] std::optional<std::string_view> find_string(std::string_view key) const;
  [[nodiscard]] const GgufArray* find_array(std::string_view key) const;
  // "metadata llama.block_count", "config.json: num_hidden_layers": the key as whoever wrote the file knows it.
  [[nodiscard]] std::string where(std::string_view key) const;

 private:
  void index_tensors();
  [[noreturn]] void fail_kind(std::string_view key, const GgufValue& value, const char* wanted) const;
  [[noreturn]] void fail_absent(std::string_view key) const;

  std::string name_;
  uint64_t file_bytes_ = 0;
  std::shared_ptr<const GgufFile> gguf_;
  std::filesystem::path folder_;
  const Architecture* folder_architecture_ = nullptr;
  std::vector<std::pair<std::string, GgufValue>> metadata_;  // of a folder
  std::map<std::string, size_t, std::less<>> metadata_index_;
  std::map<std::string, std::string, std::less<>> origins_;
  std::shared_ptr<const void> values_;
  std::vector<CheckpointTensor> tensors_;
  std::map<std::string, size_t, std::less<>> tensor_index_;
};

// The tokenizer that belongs to a checkpoint; a GGUF file may hold a tokenizer.json ("tokenizer.huggingface.json"). Errors: Tokenizer's;
// not_found for a folder without one.
[[nodiscard]] std::shared_ptr<const Tokenizer> load_tokenizer(const Checkpoint& checkpoint);
// Its chat templates, the default first; none is no error. Errors: those of a folder's find_chat_templates.
[[nodiscard]] std::vector<ChatTemplateSource> find_chat_templates(const Checkpoint& checkpoint);

}  // namespace wick
