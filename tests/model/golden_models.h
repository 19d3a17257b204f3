// The small models of tests/data/models: their configurations, logits and greedy ids of transformers, and their weights, which a formula
// gives (make_goldens.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unit/shared_data.h"
#include "wick/formats/safetensors_writer.h"

namespace wick {

[[nodiscard]] inline int32_t argmax(const std::vector<float>& logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// As weight(name, shape) there.
inline std::vector<float> golden_weight(const std::string& name, const std::vector<int64_t>& shape) {
  uint64_t state = 0xCBF29CE484222325;
  for (const char letter : name) state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001B3;
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  const bool norm = name.find("norm") != std::string::npos || name.find("ln_") != std::string::npos;
  std::vector<float> values;
  for (int64_t index = 1; index <= count; ++index) {
    uint64_t x = state + static_cast<uint64_t>(index) * 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    x = x ^ (x >> 31);
    const double uniform = static_cast<double>(x >> 40) / (1 << 23) - 1;
    if (shape.size() > 1) {
      values.push_back(static_cast<float>(uniform * std::sqrt(3.0 / static_cast<double>(shape.back()))));
    } else if (norm) {
      values.push_back(static_cast<float>(uniform * 0.25 + (name.ends_with("bias") ? 0 : 1)));
    } else {
      values.push_back(static_cast<float>(uniform * 0.25));
    }
  }
  return values;
}

struct GoldenModel {
  std::string name;
  nlohmann::json json;
  std::map<std::string, std::string> renamed = {};  // tensors that get another one's weights

  [[nodiscard]] static GoldenModel read(const std::string& name) {
    return {.name = name, .json = nlohmann::json::parse(std::ifstream(source_file("tests/data/models/" + name + ".json")))};
  }
  [[nodiscard]] static std::vector<std::string> all() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(source_file("tests/data/models"))) {
      if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] std::vector<int32_t> input_ids() const { return json.at("input_ids").get<std::vector<int32_t>>(); }
  [[nodiscard]] std::vector<int32_t> greedy_ids() const { return json.at("greedy_ids").get<std::vector<int32_t>>(); }
  [[nodiscard]] std::vector<float> logits() const {
    std::vector<float> all;
    for (const auto& row : json.at("logits")) {
      for (const auto& value : row) all.push_back(value.get<float>());
    }
    return all;
  }
  // Of the text model, which may be a part of one that reads images.
  [[nodiscard]] int64_t vocab() const {
    const nlohmann::json& config = json.at("config");
    return (config.contains("text_config") ? config.at("text_config") : config).at("vocab_size").get<int64_t>();
  }

  // config.json, and safetensors in so many shards.
  void write(const std::filesystem::path& folder, size_t shards = 1) const {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "config.json") << json.at("config").dump(1);
    std::vector<std::vector<float>> kept;
    SafetensorsWriter writer;
    uint64_t bytes = 0;
    for (const auto& [tensor, shape] : json.at("tensors").items()) {
      const auto extents = shape.get<std::vector<int64_t>>();
      const auto other = renamed.find(tensor);
      kept.push_back(golden_weight(other == renamed.end() ? tensor : other->second, extents));
      bytes += kept.back().size() * sizeof(float);
      const size_t index = kept.size() - 1;
      writer.add_tensor(tensor, DType::f32, Shape(extents),
                        [&kept, index](const SafetensorsWriter::Sink& sink) { sink(std::as_bytes(std::span(kept[index]))); });
    }
    if (shards == 1) {
      writer.write(folder / "model.safetensors");
    } else {
      (void)writer.write_sharded(folder, bytes / shards);
    }
  }
};

}  // namespace wick
