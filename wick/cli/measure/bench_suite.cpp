#include "wick/cli/measure/bench_suite.h"

#include <ostream>
#include <random>
#include <system_error>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/process.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_format.h"
#include "wick/convert/synthetic.h"

namespace wick {
namespace {

// Removes a file that nobody needs by its name any more.
class RemovedFile {
 public:
  explicit RemovedFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~RemovedFile() { remove(); }
  RemovedFile(const RemovedFile&) = delete;
  RemovedFile& operator=(const RemovedFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  void remove() const noexcept {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

// What a token costs: bytes of weights that decoding it reads, and operations of its matrices in prefill, where the head is left out.
struct Work {
  double bytes = 0;
  double operations = 0;
};

Work work_of(const Checkpoint& file) {
  // An embedding that is the head as well is read whole.
  const bool tied = file.find_tensor("output.weight") == nullptr;
  Work work;
  for (const CheckpointTensor& tensor : file.tensors()) {
    const bool embedding = tensor.name == "token_embd.weight";
    if (!embedding || tied) work.bytes += static_cast<double>(storage_bytes(tensor.dtype, tensor.shape.elements()));
    if (tensor.name.starts_with("blk.") && tensor.shape.rank() == 2) work.operations += 2 * static_cast<double>(tensor.shape.elements());
  }
  return work;
}

// The arithmetic that bounds a type's prefill.
struct Arithmetic {
  std::string_view name;
  double MeasuredPeaks::* rate;
};

Arithmetic arithmetic_of(const std::string& type, const Precision& precision, const MeasuredPeaks& peaks) {
  const bool precise = precision.precise || (type == "f16" && !precision.fast);
  const bool halves = type == "f16" || type == "bf16";
  if (!precise && !halves && type != "f32" && peaks.int8_operations > 0) return {"int8", &MeasuredPeaks::int8_operations};
  if (!precise && halves && peaks.bf16_operations > 0) return {"bf16", &MeasuredPeaks::bf16_operations};
  return {"f32", &MeasuredPeaks::f32_operations};
}

struct SuiteRow {
  std::string type;
  uint64_t bytes = 0;
  Speed speed;
  Work work;
  std::string_view arithmetic;
  double peak = 0;       // operations a second, the mean of before and after
  double bandwidth = 0;  // bytes a second, likewise
  double load_seconds = 0;

  // 0 where nothing was measured.
  [[nodiscard]] double prefill_share() const { return peak > 0 ? speed.prefill.median * work.operations / peak : 0; }
  [[nodiscard]] double decode_share() const { return bandwidth > 0 ? speed.decode.median * work.bytes / bandwidth : 0; }
};

SuiteRow measure_type(const Console& console, const SuiteOptions& options, const SyntheticShape& shape, const std::string& type,
                      const std::filesystem::path& folder, const Device& device) {
  const RemovedFile file(folder / fmt::format("wick-bench-{:08x}-{}-{}.gguf", std::random_device()(), shape.name, type));
  {
    ProgressBar bar(console, "writing " + type);
    SyntheticOptions synthetic{.shape = shape, .type = type, .threads = usable_cores()};
    synthetic.progress = [&](uint64_t done, uint64_t total) { bar.update(done, total, format_bytes(done)); };
    write_synthetic_model(file.path(), synthetic);
  }
  SuiteRow row;
  row.type = type;
  MeasuredPeaks before;
  MeasuredPeaks after;
  {
    const LoadedModel loaded = load_model(console, file.path(), device, options.precision, WithTokenizer::no);
    // The mapping keeps the bytes; a program that is killed from here on leaves no gigabytes behind.
    file.remove();
    row.bytes = loaded.model->info().file_bytes;
    row.work = work_of(loaded.file);
    row.load_seconds = loaded.load_seconds;
    before = device.runtime().measure_peaks();
    row.speed = measure_speed(console, *loaded.model, options.speed);
    after = device.runtime().measure_peaks();
  }
  const Arithmetic arithmetic = arithmetic_of(type, options.precision, before);
  row.arithmetic = arithmetic.name;
  row.peak = (before.*arithmetic.rate + after.*arithmetic.rate) / 2;
  row.bandwidth = (before.read_bytes + after.read_bytes) / 2;
  return row;
}

std::string share(double value) { return value > 0 ? fmt::format("{:.2f}", value) : "-"; }

void print_row(const Console& console, const SuiteRow& row) {
  console.out << fmt::format("{:<8} {:>10} {:>11.1f} {:>5} {:>8.0f} {:>8} {:>10.1f} {:>8.1f} {:>8}\n", row.type, format_bytes(row.bytes),
                             row.speed.prefill.median, row.arithmetic, row.peak / 1e9, share(row.prefill_share()), row.speed.decode.median,
                             row.bandwidth / 1e9, share(row.decode_share()))
              << std::flush;
}

nlohmann::ordered_json describe(const SuiteRow& row) {
  return {{"type", row.type},
          {"model_bytes", row.bytes},
          {"load_seconds", row.load_seconds},
          {"prefill_tokens_per_second", row.speed.prefill.median},
          {"prefill_tokens_per_second_min", row.speed.prefill.minimum},
          {"prefill_tokens_per_second_max", row.speed.prefill.maximum},
          {"operations_per_token", row.work.operations},
          {"arithmetic", row.arithmetic},
          {"peak_operations_per_second", row.peak},
          {"prefill_share_of_peak", row.prefill_share()},
          {"decode_tokens_per_second", row.speed.decode.median},
          {"decode_tokens_per_second_min", row.speed.decode.minimum},
          {"decode_tokens_per_second_max", row.speed.decode.maximum},
          {"bytes_per_token", row.work.bytes},
          {"read_bytes_per_second", row.bandwidth},
          {"decode_share_of_bandwidth", row.decode_share()}};
}

}  // namespace

void run_bench_suite(const Console& console, const SuiteOptions& options, const Device& device) {
  const SyntheticShape shape = parse_synthetic_shape(options.shape);
  for (const std::string& type : options.types) check_synthetic_type(shape, type);
  const std::filesystem::path folder = options.folder.empty() ? std::filesystem::temp_directory_path() : options.folder;
  if (!options.json) {
    console.out << fmt::format("{} ({}), threads {}, shape {}; limits in G operations/s and GB/s, measured around each model\n",
                               device.location().to_string(), device.caps().driver, device.caps().compute_units, shape.name)
                << fmt::format("{:<8} {:>10} {:>11} {:>14} {:>8} {:>10} {:>8} {:>8}\n", "type", "size",
                               fmt::format("prefill {}", options.speed.prompt_tokens), "limit", "share",
                               fmt::format("decode {}", options.speed.gen_tokens), "limit", "share");
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const std::string& type : options.types) {
    const SuiteRow row = measure_type(console, options, shape, type, folder, device);
    rows.push_back(describe(row));
    if (!options.json) print_row(console, row);
  }
  if (!options.json) return;
  const nlohmann::ordered_json json = {{"device", device.location().to_string()},
                                       {"variant", device.caps().driver},
                                       {"threads", device.caps().compute_units},
                                       {"shape", shape.name},
                                       {"precise", options.precision.precise},
                                       {"fast", options.precision.fast},
                                       {"deterministic", options.precision.deterministic},
                                       {"kv_type", to_string(options.precision.cache_dtype())},
                                       {"prompt_tokens", options.speed.prompt_tokens},
                                       {"gen_tokens", options.speed.gen_tokens},
                                       {"depth", options.speed.depth},
                                       {"reps", options.speed.reps},
                                       {"types", rows}};
  console.out << json_text(json, 2) << '\n';
}

}  // namespace wick
