#include "wick/convert/quantize_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"
#include "wick/base/thread_pool.h"
#include "wick/formats/gguf_type.h"
#include "wick/formats/gguf_writer.h"
#include "wick/quant/block_format.h"
#include "wick/quant/unpack_row.h"

namespace wick {
namespace {

constexpr uint32_t kQuantizationVersion = 2;  // ggml's GGML_QNT_VERSION

void copy_metadata(const GgufFile& source, GgufWriter& writer, const QuantizeOptions& options) {
  static const std::set<std::string_view> kReplaced = {"general.quantization_version",
                                                       "general.file_type",
                                                       "split.no",
                                                       "split.count",
                                                       "split.tensors.count",
                                                       "quantize.imatrix.file",
                                                       "quantize.imatrix.dataset",
                                                       "quantize.imatrix.entries_count",
                                                       "quantize.imatrix.chunks_count"};
  for (const auto& [key, value] : source.metadata()) {
    if (!kReplaced.contains(key)) writer.add(key, value);
  }
  writer.add_uint("general.quantization_version", kQuantizationVersion);
  writer.add_uint("general.file_type", options.mix->file_type);
  if (options.importance == nullptr) return;
  writer.add_string("quantize.imatrix.file", options.importance_file);
  if (!options.importance->datasets.empty()) writer.add_string("quantize.imatrix.dataset", options.importance->datasets.front());
  writer.add_uint("quantize.imatrix.entries_count", static_cast<uint32_t>(options.importance->entries.size()));
  writer.add_uint("quantize.imatrix.chunks_count", options.importance->chunks);
}

// One tensor on its way from one type to another.
struct Conversion {
  const GgufTensor* tensor = nullptr;
  const BlockFormat* to = nullptr;  // nullptr: the bytes are copied
  std::vector<float> importance;    // one row for each matrix of the tensor; empty: none
  std::vector<float> factors = {};  // of the values: one, or one for each matrix; empty: none
  bool is_ones = false;             // a scale that its matrix has taken in
};

class Quantizer {
 public:
  Quantizer(const QuantizeOptions& options, uint64_t total) : options_(options), total_(total), pool_(options.threads) {}

  void produce(const Conversion& conversion, const GgufWriter::Sink& sink) {
    const GgufTensor& tensor = *conversion.tensor;
    if (conversion.is_ones) {
      const std::vector<float> ones(static_cast<size_t>(tensor.shape.elements()), 1.0F);
      sink(std::as_bytes(std::span(ones)));
      advance(tensor, tensor.shape.elements());
      return;
    }
    if (conversion.to == nullptr) {
      sink(tensor.data);
      advance(tensor, tensor.shape.elements());
      return;
    }
    const std::span<const std::byte> data = tensor.data;
    const int64_t columns = tensor.shape.last();
    const int64_t rows = columns == 0 ? 0 : tensor.shape.elements() / columns;
    if (rows == 0) return;  // its columns may be any number
    const int64_t row_bytes = storage_bytes(conversion.to->dtype, columns);
    constexpr int64_t kElementsAtOnce = int64_t{1} << 20;
    const int64_t rows_at_once = std::clamp<int64_t>(kElementsAtOnce / std::max<int64_t>(columns, 1), 1, std::max<int64_t>(rows, 1));
    std::vector<std::byte> packed(static_cast<size_t>(rows_at_once * row_bytes));
    for (int64_t first = 0; first < rows; first += rows_at_once) {
      const int64_t count = std::min(rows_at_once, rows - first);
      convert_rows(conversion, data, first, count, packed);
      sink(std::span(packed).first(static_cast<size_t>(count * row_bytes)));
      advance(tensor, count * columns);
    }
  }

 private:
  void advance(const GgufTensor& tensor, int64_t elements) {
    done_ += static_cast<uint64_t>(elements);
    if (options_.progress) options_.progress(done_, total_, std::string(tensor.name));
  }

  void convert_rows(const Conversion& conversion, std::span<const std::byte> data, int64_t first, int64_t count,
                    std::span<std::byte> packed) {
    const GgufTensor& tensor = *conversion.tensor;
    const int64_t columns = tensor.shape.last();
    const int64_t to_bytes = storage_bytes(conversion.to->dtype, columns);
    const int64_t matrix_rows = tensor.shape.rank() > 1 ? tensor.shape[tensor.shape.rank() - 2] : 1;
    constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
    std::atomic<int64_t> bad_row{kNone};
    // Rows are handed out one by one: searches take longer for some than for others.
    std::atomic<int64_t> next{0};
    pool_.run([&](int, int) {
      std::vector<float> values(static_cast<size_t>(columns));
      for (int64_t row = next++; row < count; row = next++) {
        unpack_row(tensor.dtype, data.data(), data.size(), first + row, values);
        const auto matrix = static_cast<size_t>((first + row) / matrix_rows);
        if (!conversion.factors.empty()) {
          const float factor = conversion.factors[conversion.factors.size() == 1 ? 0 : matrix];
          for (float& value : values) value *= factor;
        }
        if (is_quantized(conversion.to->dtype) && !std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) {
          int64_t known = bad_row;
          while (first + row < known && !bad_row.compare_exchange_weak(known, first + row)) {}
          continue;
        }
        std::span<const float> importance = conversion.importance;
        const auto width = static_cast<size_t>(columns);
        if (!importance.empty()) importance = importance.subspan(matrix * width, width);
        pack_row(*conversion.to, values, importance, packed.data() + row * to_bytes);
      }
    });
    if (bad_row == kNone) return;
    fail_with({{"repair the model"}, {"keep this tensor as it is by {}", Setting::keep, fmt::format("'{}=f16'", tensor.name)}},
              ErrorCode::invalid_argument, "tensor '{}' row {}: a weight is NaN or infinite, which {} cannot hold", tensor.name,
              bad_row.load(), ggml_name(conversion.to->dtype));
  }

  const QuantizeOptions& options_;
  uint64_t total_;
  uint64_t done_ = 0;
  ThreadPool pool_;
};

void notice(const QuantizeOptions& options, const std::string& remark) {
  if (options.notice) options.notice(remark);
}

std::vector<float> importance_of(const GgufTensor& tensor, const PlannedType& planned, const QuantizeOptions& options) {
  if (options.importance == nullptr || find_block_format(planned.dtype)->pack_weighted == nullptr) return {};
  const ImportanceEntry* entry = options.importance->find(tensor.name);
  if (entry == nullptr) {
    // Importance matrices usually have none of embeddings and of the head.
    const bool is_usual =
        tensor.name == "token_embd.weight" || tensor.name == "per_layer_token_embd.weight" || tensor.name == "output.weight";
    const auto& tell = is_usual ? options.notice : options.warning;
    if (tell) tell(fmt::format("no importance is known of tensor '{}'", tensor.name));
    return {};
  }
  const int64_t columns = tensor.shape.last();
  const int64_t matrices = tensor.shape.rank() > 2 ? tensor.shape[tensor.shape.rank() - 3] : 1;
  if (static_cast<int64_t>(entry->sums.size()) == columns * matrices) return entry->means();
  if (tensor.name == "token_embd.weight") return {};
  fail(ErrorCode::invalid_argument,
       "tensor '{}': the importance has {} values, the tensor {} columns; it was collected with another model: collect it with this one",
       tensor.name, entry->sums.size(), columns * matrices);
}

Conversion convert(const GgufTensor& tensor, const PlannedType& planned, const QuantizeOptions& options) {
  Conversion conversion{.tensor = &tensor, .to = nullptr, .importance = {}};
  if (planned.dtype != planned.wanted) {
    notice(options,
           fmt::format("tensor '{}': rows of {} elements are no multiple of {}'s block of {}; {} stands in", tensor.name,
                       tensor.shape.last(), ggml_name(planned.wanted), info(planned.wanted).block_elements, ggml_name(planned.dtype)));
  }
  if (planned.dtype == tensor.dtype) return conversion;
  conversion.to = find_block_format(planned.dtype);
  WICK_ASSERT(conversion.to != nullptr && is_readable(tensor.dtype));
  conversion.importance = importance_of(tensor, planned, options);
  if (conversion.importance.empty() && (planned.needs_importance || conversion.to->pack == nullptr)) {
    fail_with({{"collect one with wick imatrix and give it by {}", Setting::importance}}, ErrorCode::invalid_argument,
              "tensor '{}': {} needs an importance matrix", tensor.name, ggml_name(planned.dtype));
  }
  return conversion;
}

// NVFP4's scale of a matrix is a tensor of its own, which models read beside other types in some architectures only: a matrix that gets
// another type takes it in.
void fold_scales(const GgufFile& source, std::vector<Conversion>& conversions) {
  constexpr std::string_view kWeight = ".weight";
  for (Conversion& conversion : conversions) {
    const GgufTensor& tensor = *conversion.tensor;
    if (tensor.dtype != DType::nvfp4 || conversion.to == nullptr || !tensor.name.ends_with(kWeight)) continue;
    const std::string name = std::string(tensor.name.substr(0, tensor.name.size() - kWeight.size())) + ".scale";
    const GgufTensor* scale = source.find_tensor(name);
    if (scale == nullptr) continue;
    const int64_t matrices = tensor.shape.rank() > 2 ? tensor.shape[tensor.shape.rank() - 3] : 1;
    const int64_t count = scale->shape.elements();
    if (scale->dtype != DType::f32 || (count != 1 && count != matrices)) {
      fail(ErrorCode::invalid_argument, "tensor '{}' {} {}: one F32 number, or one for each of {} matrices, is needed", name,
           ggml_name(scale->dtype), scale->shape.to_string(), matrices);
    }
    conversion.factors.resize(static_cast<size_t>(count));
    std::memcpy(conversion.factors.data(), scale->data.data(), scale->data.size());
    for (Conversion& other : conversions) other.is_ones = other.is_ones || other.tensor == scale;
  }
}

}  // namespace

std::vector<PlannedType> check_plan(const GgufFile& source, const QuantizeOptions& options) {
  if (options.mix == nullptr) fail(ErrorCode::invalid_argument, "quantize: no type chosen; set QuantizeOptions::mix");
  std::vector<PlannedType> plan = plan_quantization(quantize_source(source), *options.mix, options.keep, options.importance != nullptr);
  for (size_t index = 0; index < plan.size() && !options.allow_requantize; ++index) {
    const GgufTensor& tensor = source.tensors()[index];
    if (!is_quantized(tensor.dtype) || !is_quantized(plan[index].dtype) || plan[index].dtype == tensor.dtype) continue;
    fail_with({{"start from an F16, BF16 or F32 model"}, {"give {}", Setting::allow_requantize}}, ErrorCode::invalid_argument,
              "tensor '{}' is {} already, and quantizing it again to {} loses accuracy", tensor.name, ggml_name(tensor.dtype),
              ggml_name(plan[index].dtype));
  }
  return plan;
}

void quantize_file(const GgufFile& source, const std::filesystem::path& target, const QuantizeOptions& options) {
  const std::vector<PlannedType> plan = check_plan(source, options);
  GgufWriter writer;
  copy_metadata(source, writer, options);
  uint64_t total = 0;
  std::vector<Conversion> conversions;
  for (size_t index = 0; index < plan.size(); ++index) {
    const GgufTensor& tensor = source.tensors()[index];
    total += static_cast<uint64_t>(tensor.shape.elements());
    conversions.push_back(convert(tensor, plan[index], options));
  }
  fold_scales(source, conversions);
  Quantizer quantizer(options, total);
  for (size_t index = 0; index < plan.size(); ++index) {
    const GgufTensor& tensor = source.tensors()[index];
    writer.add_tensor(
        tensor.name, plan[index].dtype, tensor.shape,
        [&quantizer, &conversion = conversions[index]](const GgufWriter::Sink& sink) { quantizer.produce(conversion, sink); });
  }
  writer.write(target);
}

}  // namespace wick
