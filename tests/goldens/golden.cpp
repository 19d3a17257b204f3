#include "goldens/golden.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

#include "source_root.h"
#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/formats/safetensors.h"

namespace wick::goldens {
namespace {

using nlohmann::json;

DType dtype_of(const json& name) {
  const std::optional<DType> dtype = parse_dtype(name.get<std::string>());
  if (!dtype) fail(ErrorCode::corrupt_file, "goldens: no dtype '{}'", name.get<std::string>());
  return *dtype;
}

Expected expected_of(const json& entry, const SafetensorsFile& file) {
  Expected expected{dtype_of(entry[0]), shape_of(entry[1]), {}};
  const auto size = static_cast<size_t>(storage_bytes(expected.dtype, 1));
  const std::span<const std::byte> all = file.get(entry[0].get<std::string>()).data;
  expected.bytes = all.subspan(entry[2].get<size_t>() * size, static_cast<size_t>(expected.shape.elements()) * size);
  return expected;
}

std::vector<std::optional<Expected>> optional_entries(const json& entries, const SafetensorsFile& file) {
  std::vector<std::optional<Expected>> result;
  for (const json& entry : entries) {
    result.push_back(entry.is_null() ? std::nullopt : std::optional(expected_of(entry, file)));
  }
  return result;
}

Case case_of(const json& entry, const SafetensorsFile& file) {
  Case result;
  result.name = entry["name"];
  result.op = entry["op"];
  if (entry.contains("p")) result.parameters = entry["p"];
  for (const json& input : entry["in"]) {
    result.inputs.push_back({dtype_of(input[0]), shape_of(input[1]), input[2], input.size() > 3 ? input[3] : json::array()});
  }
  for (const json& output : entry["out"]) result.outputs.push_back(expected_of(output, file));
  if (entry.contains("grad")) result.gradients = optional_entries(entry["grad"], file);
  if (entry.contains("grad2")) result.second_gradients = optional_entries(entry["grad2"], file);
  result.terms = entry.value("terms", int64_t{0});
  result.exact = entry.value("exact", false);
  return result;
}

// FNV-1a.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// SplitMix64 (Steele, Lea & Flood 2014), by counter.
uint64_t number_of(uint64_t seed, uint64_t counter) {
  uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

template <class T>
void store(std::vector<std::byte>& bytes, int64_t index, T value) {
  std::memcpy(bytes.data() + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// Every number that the generator makes is held exactly by the dtype.
void store_number(DType dtype, std::vector<std::byte>& bytes, int64_t index, double value) {
  switch (dtype) {
    case DType::u8: return store(bytes, index, static_cast<uint8_t>(value));
    case DType::u32: return store(bytes, index, static_cast<uint32_t>(value));
    case DType::i8: return store(bytes, index, static_cast<int8_t>(value));
    case DType::i16: return store(bytes, index, static_cast<int16_t>(value));
    case DType::i32: return store(bytes, index, static_cast<int32_t>(value));
    case DType::i64: return store(bytes, index, static_cast<int64_t>(value));
    case DType::bf16: return store(bytes, index, bf16(static_cast<float>(value)));
    case DType::f16: return store(bytes, index, f16(static_cast<float>(value)));
    case DType::f32: return store(bytes, index, static_cast<float>(value));
    case DType::f64: return store(bytes, index, value);
    case DType::f8e4m3: return store(bytes, index, f8e4m3(static_cast<float>(value)));
    default: fail(ErrorCode::unsupported, "goldens: inputs of {}", to_string(dtype));
  }
}

double float_of(const json& value) {
  if (!value.is_string()) return value.get<double>();
  const std::string text = value;
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "-0") return -0.0;
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

void store_list_item(DType dtype, std::vector<std::byte>& bytes, int64_t index, const json& item) {
  if (!is_integer(dtype)) return store_number(dtype, bytes, index, float_of(item));
  const auto value = item.get<int64_t>();
  if (dtype == DType::i64) return store(bytes, index, value);
  store_number(dtype, bytes, index, static_cast<double>(value));
}

std::vector<int64_t> shuffled(uint64_t seed, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = count - 1; i > 0; --i) {
    const auto j = static_cast<int64_t>(number_of(seed, static_cast<uint64_t>(i)) % static_cast<uint64_t>(i + 1));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  }
  return order;
}

void fill_patterns(std::vector<std::byte>& bytes, int64_t size, int64_t count, uint64_t first, uint64_t step) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t pattern = first + static_cast<uint64_t>(i) * step;
    std::memcpy(bytes.data() + i * size, &pattern, static_cast<size_t>(size));  // little-endian: the low bytes
  }
}

void fill_drawn(DType dtype, std::vector<std::byte>& bytes, int64_t count, uint64_t seed, const json& values) {
  const bool odd = values[0] == "odd";
  const int64_t low = values[1];
  const int64_t high = values[2];
  for (int64_t i = 0; i < count; ++i) {
    const auto k = static_cast<int64_t>(number_of(seed, static_cast<uint64_t>(i)) % static_cast<uint64_t>(high - low)) + low;
    store_number(dtype, bytes, i, std::ldexp(static_cast<double>(odd ? 2 * k + 1 : k), values[3].get<int>()));
  }
}

int significant_bits(DType dtype) {
  switch (dtype) {
    case DType::f64: return 40;
    case DType::f32: return 20;
    case DType::f16: return 11;
    case DType::bf16: return 8;
    default: return 4;
  }
}

}  // namespace

const std::vector<Case>& all_cases() {
  static std::vector<SafetensorsFile> files;
  static const std::vector<Case> cases = [] {
    std::vector<std::filesystem::path> indices;
    for (const auto& entry : std::filesystem::directory_iterator(source_root() / "tests/data/goldens")) {
      if (entry.path().extension() == ".json") indices.push_back(entry.path());
    }
    std::sort(indices.begin(), indices.end());
    std::vector<Case> result;
    for (std::filesystem::path& path : indices) {
      const json index = json::parse(std::ifstream(path));
      files.push_back(SafetensorsFile::open(path.replace_extension(".safetensors")));
      for (const json& entry : index["cases"]) result.push_back(case_of(entry, files.back()));
    }
    return result;
  }();
  return cases;
}

std::vector<std::byte> draw(std::string_view case_name, std::string_view label, const json& values, DType dtype, int64_t count) {
  const uint64_t seed = hash_of(std::string(case_name) + "#" + std::string(label));
  const int64_t size = storage_bytes(dtype, 1);
  std::vector<std::byte> bytes(static_cast<size_t>(count * size));
  const std::string kind = values[0];
  if (kind == "grid" || kind == "odd") {
    fill_drawn(dtype, bytes, count, seed, values);
  } else if (kind == "distinct") {
    const std::vector<int64_t> order = shuffled(seed, count);
    for (int64_t i = 0; i < count; ++i) {
      const auto k = static_cast<double>(order[static_cast<size_t>(i)] + values[1].get<int64_t>());
      store_number(dtype, bytes, i, std::ldexp(k, values[2].get<int>()));
    }
  } else if (kind == "list") {
    for (int64_t i = 0; i < count; ++i) store_list_item(dtype, bytes, i, values[1][static_cast<size_t>(i) % values[1].size()]);
  } else if (kind == "bits") {
    fill_patterns(bytes, size, count, values[1], values[2]);
  } else {
    fail(ErrorCode::corrupt_file, "goldens: {}: no values '{}'", case_name, kind);
  }
  return bytes;
}

json upstream_values(DType dtype) {
  const int bits = significant_bits(dtype);
  const int64_t half = int64_t{1} << (bits - 1);
  return json::array({"odd", -half, half, -bits});
}

Tensor apply_view(Tensor tensor, const json& steps) {
  for (const json& step : steps) {
    const std::string kind = step[0];
    if (kind == "reshape") {
      tensor = tensor.reshape(shape_of(step[1]));
    } else if (kind == "narrow") {
      tensor = tensor.narrow(step[1], step[2], step[3]);
    } else if (kind == "transpose") {
      tensor = tensor.transpose(step[1], step[2]);
    } else if (kind == "permute") {
      const auto order = step[1].get<std::vector<int>>();
      tensor = tensor.permute(std::span<const int>(order));
    } else if (kind == "flip") {
      tensor = tensor.flip(step[1].get<int>());
    } else if (kind == "broadcast") {
      tensor = tensor.broadcast_to(shape_of(step[1]));
    } else if (kind == "squeeze") {
      tensor = tensor.squeeze(step[1]);
    } else {
      fail(ErrorCode::corrupt_file, "goldens: no view '{}'", kind);
    }
  }
  return tensor;
}

namespace {

template <class T>
T load(std::span<const std::byte> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace

double number_at(DType dtype, std::span<const std::byte> bytes, int64_t index) {
  switch (dtype) {
    case DType::u8: return load<uint8_t>(bytes, index);
    case DType::u32: return load<uint32_t>(bytes, index);
    case DType::i8: return load<int8_t>(bytes, index);
    case DType::i16: return load<int16_t>(bytes, index);
    case DType::i32: return load<int32_t>(bytes, index);
    case DType::i64: return static_cast<double>(load<int64_t>(bytes, index));
    case DType::bf16: return load<bf16>(bytes, index);
    case DType::f16: return load<f16>(bytes, index);
    case DType::f32: return load<float>(bytes, index);
    case DType::f64: return load<double>(bytes, index);
    case DType::f8e4m3: return load<f8e4m3>(bytes, index);
    default: fail(ErrorCode::unsupported, "goldens: results of {}", to_string(dtype));
  }
}

}  // namespace wick::goldens
