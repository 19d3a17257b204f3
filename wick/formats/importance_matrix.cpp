#include "wick/formats/importance_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/base/mapped_file.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_writer.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr std::string_view kSums = ".in_sum2";
constexpr std::string_view kCounts = ".counts";
constexpr const char* kCollectAgain = "collect it again";

std::vector<float> floats_of(const GgufFile& file, const GgufTensor& tensor) {
  if (tensor.dtype != DType::f32) {
    fail(ErrorCode::corrupt_file, "{}: tensor {}: sums and counts must be f32; {}", file.name(), printable(tensor.name), kCollectAgain);
  }
  std::vector<float> values(tensor.data.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

ImportanceMatrix read_gguf(const std::filesystem::path& path) {
  const GgufFile file = GgufFile::open(path);
  ImportanceMatrix matrix;
  if (const GgufArray* names = file.find_array("imatrix.datasets")) matrix.datasets.assign(names->strings.begin(), names->strings.end());
  matrix.chunks = static_cast<uint32_t>(file.find_uint("imatrix.chunk_count").value_or(0));
  matrix.chunk_tokens = static_cast<uint32_t>(file.find_uint("imatrix.chunk_size").value_or(0));
  for (const GgufTensor& tensor : file.tensors()) {
    const bool sums = tensor.name.ends_with(kSums);
    if (!sums && !tensor.name.ends_with(kCounts)) continue;
    const std::string name(tensor.name.substr(0, tensor.name.size() - (sums ? kSums : kCounts).size()));
    (sums ? matrix.entries[name].sums : matrix.entries[name].counts) = floats_of(file, tensor);
  }
  return matrix;
}

// The older form: numbers of 32 bits and bytes, one after another.
class DataFileReader {
 public:
  DataFileReader(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  ImportanceMatrix read() {
    ImportanceMatrix matrix;
    const int32_t entries = count("number of entries", 1);
    for (int32_t index = 0; index < entries; ++index) {
      const std::string weight = text(count("length of a name", 1));
      const int32_t calls = count("number of calls", 0);
      ImportanceEntry entry;
      entry.sums.resize(static_cast<size_t>(require(count("number of values", 1), sizeof(float))));
      take(std::as_writable_bytes(std::span(entry.sums)));
      entry.counts = {static_cast<float>(calls)};
      matrix.entries[weight] = std::move(entry);
    }
    if (at_ == bytes_.size()) return matrix;
    matrix.chunks = static_cast<uint32_t>(count("number of chunks", 0));
    if (at_ < bytes_.size()) matrix.datasets.push_back(text(count("length of the dataset's name", 0)));
    return matrix;
  }

 private:
  int32_t count(const char* what, int32_t minimum) {
    int32_t value = 0;
    if (bytes_.size() - at_ < sizeof(value))
      fail(ErrorCode::corrupt_file, "{}: {} at byte {}: the file ends; {}", name_, what, at_, kCollectAgain);
    take(std::as_writable_bytes(std::span(&value, 1)));
    if (value < minimum) {
      fail(ErrorCode::corrupt_file, "{}: {} at byte {}: {} is below {}; {}", name_, what, at_ - sizeof(value), value, minimum,
           kCollectAgain);
    }
    return value;
  }
  int32_t require(int32_t elements, size_t size) const {
    if (static_cast<size_t>(elements) > (bytes_.size() - at_) / size) {
      fail(ErrorCode::corrupt_file, "{}: {} values at byte {}: only {} bytes are left; {}", name_, elements, at_, bytes_.size() - at_,
           kCollectAgain);
    }
    return elements;
  }
  std::string text(int32_t length) {
    std::string result(static_cast<size_t>(require(length, 1)), '\0');
    take(std::as_writable_bytes(std::span(result)));
    return result;
  }
  void take(std::span<std::byte> target) {
    if (!target.empty()) std::memcpy(target.data(), bytes_.data() + at_, target.size());
    at_ += target.size();
  }

  std::span<const std::byte> bytes_;
  std::string name_;
  size_t at_ = 0;
};

void check(const ImportanceMatrix& matrix, const std::string& name) {
  if (matrix.entries.empty()) fail(ErrorCode::corrupt_file, "{}: holds no importance of any weight; {}", name, kCollectAgain);
  for (const auto& [weight, entry] : matrix.entries) {
    if (entry.counts.empty() || entry.sums.empty() || entry.sums.size() % entry.counts.size() != 0) {
      fail(ErrorCode::corrupt_file, "{}: weight {}: {} sums and {} counts do not belong together; {}", name, printable(weight),
           entry.sums.size(), entry.counts.size(), kCollectAgain);
    }
    const auto good = [](float value) { return std::isfinite(value) && value >= 0; };
    if (!std::all_of(entry.sums.begin(), entry.sums.end(), good) || !std::all_of(entry.counts.begin(), entry.counts.end(), good)) {
      fail(ErrorCode::corrupt_file, "{}: weight {}: a sum or count is negative, NaN or infinite; {}", name, printable(weight),
           kCollectAgain);
    }
  }
}

void write_gguf(const ImportanceMatrix& matrix, const std::filesystem::path& path) {
  GgufWriter writer;
  writer.add_string("general.type", "imatrix");
  writer.add_strings("imatrix.datasets", matrix.datasets);
  writer.add_uint("imatrix.chunk_count", matrix.chunks);
  writer.add_uint("imatrix.chunk_size", matrix.chunk_tokens);
  for (const auto& [weight, entry] : matrix.entries) {
    const auto experts = static_cast<int64_t>(entry.counts.size());
    const auto columns = static_cast<int64_t>(entry.sums.size()) / experts;
    writer.add_tensor(weight + std::string(kSums), DType::f32, {experts, columns}, std::as_bytes(std::span(entry.sums)));
    writer.add_tensor(weight + std::string(kCounts), DType::f32, {experts, 1}, std::as_bytes(std::span(entry.counts)));
  }
  writer.write(path);
}

// Each entry as means times the number of chunks, whose count the readers divide by.
void write_legacy(const ImportanceMatrix& matrix, const std::filesystem::path& path) {
  AtomicFile file(path);
  const auto number = [&](size_t value) {
    const auto narrow = static_cast<int32_t>(value);
    file.write(std::as_bytes(std::span(&narrow, 1)));
  };
  const auto text = [&](const std::string& value) {
    number(value.size());
    file.write(std::as_bytes(std::span(value)));
  };
  const uint32_t calls = std::max(matrix.chunks, 1u);
  number(matrix.entries.size());
  for (const auto& [weight, entry] : matrix.entries) {
    text(weight);
    number(calls);
    std::vector<float> values = entry.means();
    for (float& value : values) value *= static_cast<float>(calls);
    number(values.size());
    file.write(std::as_bytes(std::span(values)));
  }
  number(matrix.chunks);
  text(matrix.datasets.empty() ? std::string() : matrix.datasets.front());
  file.commit();
}

}  // namespace

std::vector<float> ImportanceEntry::means() const {
  std::vector<float> means(sums.size());
  const size_t columns = sums.size() / counts.size();
  for (size_t index = 0; index < means.size(); ++index) {
    const float count = counts[index / columns];
    means[index] = count > 0 ? sums[index] / count : 1.0f;
  }
  return means;
}

const ImportanceEntry* ImportanceMatrix::find(std::string_view weight) const {
  const auto found = entries.find(weight);
  return found == entries.end() ? nullptr : &found->second;
}

ImportanceMatrix ImportanceMatrix::read(const std::filesystem::path& path) {
  const std::shared_ptr<MappedFile> file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  constexpr std::string_view kMagic = "GGUF";
  const bool gguf = bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
  ImportanceMatrix matrix = gguf ? read_gguf(path) : DataFileReader(bytes, path.string()).read();
  check(matrix, path.string());
  return matrix;
}

void ImportanceMatrix::write(const std::filesystem::path& path) const {
  if (path.extension() == ".dat")
    write_legacy(*this, path);
  else
    write_gguf(*this, path);
}

}  // namespace wick
