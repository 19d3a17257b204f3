// Small valid GGUF files: what the tests take apart, and the seeds of the fuzz target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unit/temporary_folder.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_writer.h"
#include "wick/quant/block_format.h"

namespace wick {

[[nodiscard]] inline std::vector<std::byte> written_bytes(const GgufWriter& writer) {
  const TemporaryFolder folder;
  writer.write(folder / "sample.gguf");
  return read_bytes(folder / "sample.gguf");
}

[[nodiscard]] inline GgufArray string_array(std::vector<std::string_view> strings) {
  const uint64_t size = strings.size();
  return {.element_type = GgufType::string, .size = size, .packed = {}, .strings = std::move(strings), .arrays = {}};
}

template <class T>
[[nodiscard]] GgufArray number_array(GgufType type, std::span<const T> values) {
  return {.element_type = type, .size = values.size(), .packed = std::as_bytes(values), .strings = {}, .arrays = {}};
}

// Every metadata type, alone and in arrays, at its limits; arrays of arrays; no tensors.
[[nodiscard]] inline GgufWriter all_types_writer() {
  static constexpr int16_t kShorts[] = {-32768, 0, 32767};
  static constexpr float kFloats[] = {-1.5f, 0.0f, 3.25f};
  static constexpr bool kBools[] = {true, false};
  static constexpr uint8_t kBytes[] = {0, 255};
  static constexpr int8_t kSigned[] = {-128, 127};
  static constexpr uint16_t kWords[] = {65535};
  static constexpr uint32_t kUnsigned[] = {4294967295u};
  static constexpr int32_t kInts[] = {std::numeric_limits<int32_t>::min()};
  static constexpr uint64_t kLongs[] = {std::numeric_limits<uint64_t>::max()};
  static constexpr int64_t kSignedLongs[] = {std::numeric_limits<int64_t>::min()};
  static constexpr double kDoubles[] = {1e300};
  GgufWriter writer;
  writer.add_string("general.architecture", "test");
  writer.add("u8", {uint8_t{255}});
  writer.add("i8", {int8_t{-128}});
  writer.add("u16", {uint16_t{65535}});
  writer.add("i16", {int16_t{-32768}});
  writer.add("u32", {uint32_t{4294967295u}});
  writer.add("i32", {std::numeric_limits<int32_t>::min()});
  writer.add("f32", {0.1f});
  writer.add("bool", {true});
  writer.add("string", {std::string_view("text with \xc3\xa4 and a bad byte \xff")});
  writer.add("u64", {std::numeric_limits<uint64_t>::max()});
  writer.add("i64", {std::numeric_limits<int64_t>::min()});
  writer.add("f64", {0.1});
  writer.add_array<uint8_t>("array.u8", kBytes);
  writer.add_array<int8_t>("array.i8", kSigned);
  writer.add_array<uint16_t>("array.u16", kWords);
  writer.add_array<int16_t>("array.i16", kShorts);
  writer.add_array<uint32_t>("array.u32", kUnsigned);
  writer.add_array<int32_t>("array.i32", kInts);
  writer.add_array<float>("array.f32", kFloats);
  writer.add_array<bool>("array.bool", kBools);
  writer.add_array<uint64_t>("array.u64", kLongs);
  writer.add_array<int64_t>("array.i64", kSignedLongs);
  writer.add_array<double>("array.f64", kDoubles);
  writer.add("array.string", {string_array({"one", "", "drei"})});
  writer.add("array.empty", {string_array({})});
  GgufArray nested{.element_type = GgufType::array, .size = 2, .packed = {}, .strings = {}, .arrays = {}};
  nested.arrays.push_back(number_array<int16_t>(GgufType::i16, kShorts));
  nested.arrays.push_back(string_array({"inner"}));
  writer.add("array.array", {std::move(nested)});
  return writer;
}

// One row of 256 of every format that Wick reads; the last tensor's size is a multiple of the alignment.
[[nodiscard]] inline GgufWriter quantized_writer() {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  std::vector<float> values(256);
  for (size_t index = 0; index < values.size(); ++index) values[index] = static_cast<float>(static_cast<int>(index * 37 % 256) - 128) / 64;
  for (const DType dtype : {DType::f16, DType::bf16, DType::q4_0, DType::q8_0, DType::q4_k, DType::q5_k, DType::q6_k}) {
    const BlockFormat& format = *find_block_format(dtype);
    const auto size = static_cast<size_t>(storage_bytes(format.dtype, 256));
    writer.add_tensor(std::string("weight.") + std::string(to_string(format.dtype)), format.dtype, {1, 256},
                      [format, values, size](const GgufWriter::Sink& sink) {
                        std::vector<std::byte> blocks(size);
                        format.pack(values, blocks.data());
                        sink(blocks);
                      });
  }
  static constexpr std::array<std::byte, 96> kTernary{std::byte{0x85}, std::byte{0x1a}};
  static constexpr std::array<int8_t, 3> kBytes{-128, 0, 127};
  writer.add_tensor("weight.i2_s", DType::i2_s, {2, 128}, kTernary);
  writer.add_tensor("weight.i8", DType::i8, {3}, std::as_bytes(std::span(kBytes)));
  writer.add_tensor("weight.f32", DType::f32, {2, 4},
                    [values](const GgufWriter::Sink& sink) { sink(std::as_bytes(std::span(values).first(8))); });
  return writer;
}

// A llama-shaped header with a tokenizer of a few pieces, one tensor, and alignment 64.
[[nodiscard]] inline GgufWriter vocabulary_writer() {
  static constexpr float kScores[] = {0, 0, 0, -1, -2};
  static constexpr int32_t kTypes[] = {2, 3, 3, 1, 1};
  static constexpr float kNorm[16] = {1, 1, 1, 1};
  GgufWriter writer;
  writer.add_uint("general.alignment", 64);
  writer.add_string("general.architecture", "llama");
  writer.add_uint("llama.context_length", 16);
  writer.add_uint("llama.block_count", 1);
  writer.add_float("llama.rope.freq_base", 10000);
  writer.add_string("tokenizer.ggml.model", "llama");
  writer.add("tokenizer.ggml.tokens", {string_array({"<unk>", "<s>", "</s>", "\xe2\x96\x81", "a"})});
  writer.add_array<float>("tokenizer.ggml.scores", kScores);
  writer.add_array<int32_t>("tokenizer.ggml.token_type", kTypes);
  writer.add_bool("tokenizer.ggml.add_bos_token", true);
  writer.add_tensor("output_norm.weight", DType::f32, {16}, std::as_bytes(std::span(kNorm)));
  return writer;
}

// Part `index` of `count`; part 0 has the metadata and tensor "first", the others "part.<index>".
[[nodiscard]] inline GgufWriter split_part_writer(uint16_t index, uint16_t count, int32_t tensors) {
  static constexpr float kValues[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  GgufWriter writer;
  if (index == 0) writer.add_string("general.architecture", "llama");
  writer.add("split.no", {index});
  writer.add("split.count", {count});
  writer.add("split.tensors.count", {tensors});
  writer.add_tensor(index == 0 ? std::string("first") : "part." + std::to_string(index), DType::f32, {8},
                    std::as_bytes(std::span(kValues)));
  return writer;
}

}  // namespace wick
