// The file of `wick serve --models`: which models one server has, and the limits of each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/cli/console.h"
#include "wick/model/checkpoint/pooling.h"

namespace wick {

// One model of the file. What is not given there is as the flags of the command have it.
struct ModelsFileEntry {
  std::string name = {};
  std::vector<std::string> aliases = {};
  std::filesystem::path path = {};
  bool only_embeds = false;  // "kind": "embedding"
  bool is_preloaded = false;
  std::optional<int64_t> context = {}, parallel = {}, kv_mib = {}, unload_seconds = {};
  std::optional<Pooling> pooling = {};
  bool embeds_each_token = false;  // "pooling": "none"
  std::string chat_template = {};
  std::vector<std::string> adapter_names = {}, adapters = {};  // "NAME", "NAME=FILE"
  std::string draft_model = {};
  std::optional<int64_t> draft_tokens = {};
  uint64_t bytes = 0;  // of the files of the model and of its draft
};

struct ModelsFile {
  std::vector<ModelsFileEntry> models = {};
  int64_t max_loaded = 0;     // models in memory at once; 0: as many as it holds
  uint64_t memory_bytes = 0;  // that all models may take; 0: not given
};

// Reads the file and the headers of the models' files; relative paths begin at the folder of the file.
// Errors, naming the file and the member: invalid_argument for what is not JSON, an unknown member, a name that is there twice, a draft
// that is the model itself, a model larger than `memory` in the file or `machine_bytes` (0: not known); those of Checkpoint::open.
[[nodiscard]] ModelsFile read_models_file(const Console& console, const std::filesystem::path& path, uint64_t machine_bytes);

}  // namespace wick
