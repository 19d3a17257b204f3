// Random low-rank adapters of a TinyModel, written as GGUF files.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/tiny_model.h"

namespace wick {

// An adapter of a TinyModel: which weights, and their halves.
struct TinyAdapter {
  struct Pair {
    std::string weight;
    int64_t rows, columns, rank;
    std::vector<float> a, b;
  };
  float alpha = 3;
  std::vector<Pair> pairs;

  TinyAdapter(const TinyModel& model, std::vector<std::string> weights, int64_t rank, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const std::map<std::string, std::pair<int64_t, int64_t>> shapes = {{"attn_q", {model.heads * model.head_dim, model.width}},
                                                                       {"attn_v", {model.kv_heads * model.head_dim, model.width}},
                                                                       {"attn_output", {model.width, model.heads * model.head_dim}},
                                                                       {"ffn_gate", {model.feed_forward, model.width}},
                                                                       {"ffn_down", {model.width, model.feed_forward}}};
    for (int64_t layer = 0; layer < model.layers; ++layer) {
      for (const std::string& weight : weights) {
        const auto [rows, columns] = shapes.at(weight);
        Pair& pair = pairs.emplace_back(Pair{"blk." + std::to_string(layer) + "." + weight + ".weight", rows, columns, rank, {}, {}});
        for (int64_t i = 0; i < rank * columns; ++i) pair.a.push_back(normal(random) / std::sqrt(static_cast<float>(columns)));
        for (int64_t i = 0; i < rows * rank; ++i) pair.b.push_back(normal(random) / std::sqrt(static_cast<float>(rank)));
      }
    }
  }

  void write(const std::filesystem::path& path) const {
    GgufWriter writer = header();
    for (const Pair& pair : pairs) {
      writer.add_tensor(pair.weight + ".lora_b", DType::f32, {pair.rows, pair.rank}, std::as_bytes(std::span(pair.b)));
      writer.add_tensor(pair.weight + ".lora_a", DType::f32, {pair.rank, pair.columns}, std::as_bytes(std::span(pair.a)));
    }
    writer.write(path);
  }
  [[nodiscard]] GgufWriter header() const {
    GgufWriter writer;
    writer.add_string("general.architecture", "llama");
    writer.add_string("general.type", "adapter");
    writer.add_string("adapter.type", "lora");
    writer.add_float("adapter.lora.alpha", alpha);
    return writer;
  }
  void merge_into(NaiveLlama& model, double scale) const {
    for (const Pair& pair : pairs) model.add_product(pair.weight, scale * alpha / static_cast<double>(pair.rank), pair.b, pair.a);
  }
};

}  // namespace wick
