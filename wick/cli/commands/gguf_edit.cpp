#include "wick/cli/commands/gguf_edit.h"

#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/base/interrupt.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/output_file.h"
#include "wick/formats/gguf_writer.h"
#include "wick/formats/split_name.h"

namespace wick {
namespace {

constexpr const char* kSplitNumber = "split.no";
constexpr const char* kSplitCount = "split.count";
constexpr const char* kSplitTensors = "split.tensors.count";

bool is_split_key(std::string_view key) { return key == kSplitNumber || key == kSplitCount || key == kSplitTensors; }

std::optional<GgufType> type_of_name(std::string_view name) {
  if (name == "str") return GgufType::string;
  if (name == "int") return GgufType::i32;
  if (name == "float") return GgufType::f32;
  if (name == "bool") return GgufType::boolean;
  for (uint32_t number = 0; number <= static_cast<uint32_t>(GgufType::f64); ++number) {
    const auto type = static_cast<GgufType>(number);
    if (to_string(type) == name && type != GgufType::array) return type;
  }
  return std::nullopt;
}

// What a new value looks like: true or false, a whole number, a decimal one, else a text.
GgufType type_of_value(const std::string& value) {
  if (value == "true" || value == "false") return GgufType::boolean;
  int64_t whole = 0;
  const char* end = value.data() + value.size();
  if (const auto [stop, error] = std::from_chars(value.data(), end, whole); error == std::errc() && stop == end) {
    return whole < 0 ? GgufType::i32 : GgufType::u32;
  }
  double decimal = 0;
  if (const auto [stop, error] = std::from_chars(value.data(), end, decimal); error == std::errc() && stop == end) return GgufType::f32;
  return GgufType::string;
}

template <class T>
GgufValue whole_value(const MetadataChange& change) {
  constexpr int64_t kLow = std::is_signed_v<T> ? std::numeric_limits<int64_t>::min() >> (64 - 8 * sizeof(T)) : 0;
  constexpr auto kHigh = static_cast<int64_t>(std::numeric_limits<T>::max());
  return {static_cast<T>(parse_integer(change.key, change.value, kLow, kHigh))};
}

GgufValue value_of(const MetadataChange& change, GgufType type) {
  switch (type) {
    case GgufType::u8: return whole_value<uint8_t>(change);
    case GgufType::i8: return whole_value<int8_t>(change);
    case GgufType::u16: return whole_value<uint16_t>(change);
    case GgufType::i16: return whole_value<int16_t>(change);
    case GgufType::u32: return whole_value<uint32_t>(change);
    case GgufType::i32: return whole_value<int32_t>(change);
    case GgufType::u64: return {parse_seed(change.key, change.value)};  // any number of 64 bits, as a seed
    case GgufType::i64: return whole_value<int64_t>(change);
    case GgufType::f32: {
      constexpr double kMax = std::numeric_limits<float>::max();
      return {static_cast<float>(parse_decimal(change.key, change.value, -kMax, kMax))};
    }
    case GgufType::f64: {
      constexpr double kMax = std::numeric_limits<double>::max();
      return {parse_decimal(change.key, change.value, -kMax, kMax)};
    }
    case GgufType::boolean: return {parse_switch(change.key, change.value)};
    case GgufType::string: return {std::string_view(change.value)};
    case GgufType::array: break;
  }
  fail(ErrorCode::invalid_argument, "{}: an array; only single values can be set", change.key);
}

GgufType chosen_type(const GgufFile& source, const MetadataChange& change) {
  if (!change.type.empty()) return *type_of_name(change.type);
  const GgufValue* present = source.find(change.key);
  return present != nullptr ? present->type() : type_of_value(change.value);
}

void add_tensor(GgufWriter& writer, const GgufTensor& tensor) { writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data); }

// The parts of a split model, which get their names together once all of them are written: a process that is ended before leaves none. One
// that has more parts than files may be open names them as it goes, and removes them where a later one fails.
class Parts {
 public:
  Parts() = default;
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    std::error_code ignored;
    for (const std::filesystem::path& path : named_) std::filesystem::remove(path, ignored);
  }

  void add(const GgufWriter& writer, const std::filesystem::path& path) {
    constexpr size_t kMaxOpen = 500;
    if (open_.size() == kMaxOpen) name_open();
    open_.emplace_back(path, std::make_unique<AtomicFile>(path));
    writer.write(*open_.back().second);
    open_.back().second->sync();
  }
  void commit() {
    const HeldSignals held;
    name_open();
    named_.clear();
  }

 private:
  void name_open() {
    const HeldSignals held;
    for (const auto& [path, file] : open_) {
      file->commit();
      named_.push_back(path);
    }
    open_.clear();
  }

  std::vector<std::pair<std::filesystem::path, std::unique_ptr<AtomicFile>>> open_;
  std::vector<std::filesystem::path> named_;
};

}  // namespace

MetadataChange parse_metadata_change(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    fail(ErrorCode::invalid_argument, "'{}': write KEY=VALUE or KEY=TYPE:VALUE, such as general.name=\"My model\"", text);
  }
  MetadataChange change{.key = text.substr(0, equals), .type = {}, .value = text.substr(equals + 1)};
  const size_t colon = change.value.find(':');
  if (colon != std::string::npos && type_of_name(change.value.substr(0, colon))) {
    change.type = change.value.substr(0, colon);
    change.value = change.value.substr(colon + 1);
  }
  return change;
}

void write_with_metadata(const GgufFile& source, const std::filesystem::path& target, const std::vector<MetadataChange>& changes,
                         const std::set<std::string>& removed) {
  GgufWriter writer;
  const auto change_of = [&](std::string_view key) {
    const MetadataChange* found = nullptr;
    for (const MetadataChange& change : changes) found = change.key == key ? &change : found;
    return found;
  };
  for (const std::string& key : removed) {
    if (source.find(key) == nullptr) fail(ErrorCode::invalid_argument, "--remove {}: {} has no such key", key, source.name());
  }
  for (const auto& [key, value] : source.metadata()) {
    if (is_split_key(key) || removed.contains(std::string(key))) continue;
    const MetadataChange* change = change_of(key);
    writer.add(key, change == nullptr ? value : value_of(*change, chosen_type(source, *change)));
  }
  std::set<std::string> added;
  for (const MetadataChange& change : changes) {
    const MetadataChange& last = *change_of(change.key);
    if (source.find(change.key) == nullptr && added.insert(change.key).second) {
      writer.add(change.key, value_of(last, chosen_type(source, last)));
    }
  }
  for (const GgufTensor& tensor : source.tensors()) add_tensor(writer, tensor);
  writer.write(target);
}

std::vector<std::filesystem::path> write_parts(const GgufFile& source, const std::filesystem::path& prefix, const SplitLimits& limits) {
  if (source.tensors().empty()) fail(ErrorCode::invalid_argument, "{}: no tensors to split", source.name());
  std::vector<std::vector<const GgufTensor*>> parts(1);
  uint64_t bytes = 0;
  for (const GgufTensor& tensor : source.tensors()) {
    const bool too_many = limits.tensors > 0 && parts.back().size() >= limits.tensors;
    const bool too_large = limits.bytes > 0 && bytes + tensor.data.size() > limits.bytes;
    if (!parts.back().empty() && (too_many || too_large)) {
      parts.emplace_back();
      bytes = 0;
    }
    parts.back().push_back(&tensor);
    bytes += tensor.data.size();
  }
  constexpr size_t kMaxParts = 65535;  // what split.count holds
  if (parts.size() > kMaxParts) fail(ErrorCode::invalid_argument, "{} parts are more than {}; give larger limits", parts.size(), kMaxParts);
  std::vector<std::filesystem::path> paths;
  for (size_t index = 0; index < parts.size(); ++index) {
    paths.emplace_back(SplitName{.stem = prefix.string(), .number = index + 1, .count = parts.size()}.to_string());
    refuse_to_overwrite(source, paths.back());
  }
  // The first part, by which programs read the model, is written last, and a model that does not fit leaves nothing.
  Parts written;
  for (size_t index = parts.size(); index-- > 0;) {
    GgufWriter writer;
    if (index == 0) {
      for (const auto& [key, value] : source.metadata()) {
        if (!is_split_key(key)) writer.add(key, value);
      }
    }
    writer.add(kSplitNumber, {static_cast<uint16_t>(index)});
    writer.add(kSplitCount, {static_cast<uint16_t>(parts.size())});
    writer.add(kSplitTensors, {static_cast<int32_t>(source.tensors().size())});
    for (const GgufTensor* tensor : parts[index]) add_tensor(writer, *tensor);
    written.add(writer, paths[index]);
  }
  written.commit();
  return paths;
}

}  // namespace wick
