#include "wick/cli/commands/receipt.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <set>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/mapped_file.h"
#include "wick/cli/build_info.h"
#include "wick/cli/hub/sha256.h"
#include "wick/cli/text_format.h"
#include "wick/cli/text_input.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "wick-receipt/1";

// The checksum covers the text of the receipt without the checksum itself.
std::string checksum_of(Json receipt) {
  receipt.erase("sha256");
  return sha256_of(json_text(receipt));
}

Json describe_model(const LoadedModel& loaded) {
  Json parts = Json::array();
  std::set<const MappedFile*> seen;
  for (const CheckpointTensor& tensor : loaded.file.tensors()) {
    if (tensor.file == nullptr || !seen.insert(tensor.file.get()).second) continue;
    // Opened again, so that pages of the mapping that were forgotten stay so.
    const std::shared_ptr<MappedFile> file = MappedFile::open(tensor.file->path());
    parts.push_back({{"path", std::filesystem::absolute(file->path()).string()},
                     {"bytes", file->bytes().size()},
                     {"sha256", sha256_of(file->bytes())}});
  }
  return {{"name", loaded.model->info().name}, {"architecture", loaded.model->info().architecture}, {"files", std::move(parts)}};
}

Json describe_device(const ReceiptSubject& subject) {
  const Device& device = subject.loaded.model->device();
  return {{"requested", subject.requested_device},
          {"selected", device.location().to_string()},
          {"name", device.caps().name},
          {"driver", device.caps().driver},
          {"threads", device.caps().compute_units}};
}

Json describe_request(const ReceiptSubject& subject) {
  const SamplingParams& sampling = subject.params.sampling;
  return {{"prompt_sha256", sha256_of(subject.prompt)},
          {"prompt_tokens", subject.report.result.prompt_tokens},
          {"max_tokens", subject.params.max_tokens},
          {"temperature", decimal_of(sampling.temperature)},
          {"top_k", sampling.top_k},
          {"top_p", decimal_of(sampling.top_p)},
          {"min_p", decimal_of(sampling.min_p)},
          {"seed", subject.report.result.seed}};
}

// A member of the receipt. Errors: corrupt_file if it is absent or of another kind.
const Json& member(const std::filesystem::path& path, const Json& object, const std::string& name, Json::value_t kind) {
  const auto found = object.find(name);
  const auto matches = [&](const Json& value) {
    if (kind == Json::value_t::number_float) return value.is_number();
    if (kind == Json::value_t::number_unsigned) return value.is_number_unsigned();
    return value.type() == kind;
  };
  if (found == object.end() || !matches(*found)) {
    fail(ErrorCode::corrupt_file, "{}: '{}' is missing or not {}; the receipt is not one that Wick writes", path.string(), name,
         kind == Json::value_t::number_float || kind == Json::value_t::number_unsigned ? "a number" : Json(kind).type_name());
  }
  return *found;
}

void check_kernels(const std::filesystem::path& path, const Json& receipt) {
  const Json& kernels = member(path, receipt, "kernels", Json::value_t::object);
  const std::string selected = member(path, member(path, receipt, "device", Json::value_t::object), "selected", Json::value_t::string);
  const std::string kind = selected.substr(0, selected.find(':')) + ":";
  uint64_t sum = 0;
  uint64_t on_device = 0;
  for (const auto& [name, count] : kernels.items()) {
    if (!count.is_number_unsigned() || count == 0) {
      fail(ErrorCode::corrupt_file, "{}: kernel '{}' has no positive count", path.string(), name);
    }
    sum += count.get<uint64_t>();
    if (name.starts_with(kind)) on_device += count.get<uint64_t>();
  }
  if (sum != member(path, receipt, "kernels_launched", Json::value_t::number_unsigned).get<uint64_t>()) {
    fail(ErrorCode::corrupt_file, "{}: 'kernels_launched' is not the sum of 'kernels', {}", path.string(), sum);
  }
  if (on_device == 0) fail(ErrorCode::corrupt_file, "{}: no kernel ran on {}, the selected device", path.string(), selected);
}

void check_result(const std::filesystem::path& path, const Json& receipt) {
  const Json& request = member(path, receipt, "request", Json::value_t::object);
  const Json& result = member(path, receipt, "result", Json::value_t::object);
  const Json& tokens = member(path, result, "tokens", Json::value_t::array);
  (void)member(path, result, "text_sha256", Json::value_t::string);
  (void)member(path, request, "prompt_sha256", Json::value_t::string);
  if (tokens.size() > member(path, request, "max_tokens", Json::value_t::number_float).get<uint64_t>()) {
    fail(ErrorCode::corrupt_file, "{}: {} tokens are more than 'max_tokens'", path.string(), tokens.size());
  }
  const Json& timings = member(path, receipt, "timings", Json::value_t::object);
  for (const char* name : {"load_seconds", "prefill_seconds", "decode_seconds"}) {
    const double seconds = member(path, timings, name, Json::value_t::number_float).get<double>();
    if (!std::isfinite(seconds) || seconds < 0) fail(ErrorCode::corrupt_file, "{}: '{}' is {}", path.string(), name, seconds);
  }
  if (timings["prefill_seconds"] == 0) fail(ErrorCode::corrupt_file, "{}: 'prefill_seconds' is 0: nothing was computed", path.string());
}

void check_model(const std::filesystem::path& path, const Json& receipt, const std::string& model) {
  const Json& files = member(path, member(path, receipt, "model", Json::value_t::object), "files", Json::value_t::array);
  if (files.empty()) fail(ErrorCode::corrupt_file, "{}: it names no model file", path.string());
  if (!model.empty() && files.size() > 1) {
    fail(ErrorCode::invalid_argument, "--model: the receipt is of a model in {} parts; put them where it names them", files.size());
  }
  for (const Json& file : files) {
    const std::string where = model.empty() ? member(path, file, "path", Json::value_t::string).get<std::string>() : model;
    const std::string expected = member(path, file, "sha256", Json::value_t::string);
    const std::string found = sha256_of(MappedFile::open(where)->bytes());
    if (found == expected) continue;
    fail(ErrorCode::invalid_argument, "{}: its SHA-256 is {}, and {} says {}: it is not the model file of this receipt", where, found,
         path.string(), expected);
  }
}

}  // namespace

void write_receipt(const std::filesystem::path& path, const ReceiptSubject& subject) {
  const GenerationResult& result = subject.report.result;
  uint64_t launched = 0;
  for (const auto& [name, count] : subject.kernels) launched += count;
  Json receipt = {
      {"schema", kSchema},
      {"created", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"program", subject.program},
      {"build", parse_ordered_json(build_info_json())},
      {"model", describe_model(subject.loaded)},
      {"device", describe_device(subject)},
      {"request", describe_request(subject)},
      {"result", {{"text_sha256", sha256_of(result.text)}, {"tokens", result.tokens}, {"stop_reason", to_string(result.stop_reason)}}},
      {"kernels", subject.kernels},
      {"kernels_launched", launched},
      {"timings",
       {{"load_seconds", subject.loaded.load_seconds},
        {"prefill_seconds", result.prefill_seconds},
        {"time_to_first_token_seconds", result.time_to_first_token},
        {"decode_seconds", result.decode_seconds},
        {"prefill_tokens_per_second", result.prefill_tokens_per_second()},
        {"decode_tokens_per_second", result.decode_tokens_per_second()}}}};
  // The checksum is of what a reader parses, whose floating-point numbers may be printed in another way.
  receipt = parse_ordered_json(json_text(receipt));
  receipt["sha256"] = checksum_of(receipt);
  const std::string text = json_text(receipt, 2) + '\n';
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

Json verify_receipt(const std::filesystem::path& path, const std::string& model) {
  const Json receipt = parse_ordered_json(read_text_file(path));
  if (!receipt.is_object()) fail(ErrorCode::corrupt_file, "{}: not JSON; name a file that wick run --receipt wrote", path.string());
  if (member(path, receipt, "schema", Json::value_t::string) != kSchema) {
    fail(ErrorCode::unsupported, "{}: schema {}; this version reads {}", path.string(), json_text(receipt["schema"]), kSchema);
  }
  if (member(path, receipt, "sha256", Json::value_t::string) != checksum_of(receipt)) {
    fail(ErrorCode::corrupt_file, "{}: its checksum is another one: the receipt was changed after it was written", path.string());
  }
  (void)member(path, member(path, receipt, "build", Json::value_t::object), "commit", Json::value_t::string);
  check_kernels(path, receipt);
  check_result(path, receipt);
  check_model(path, receipt, model);
  return receipt;
}

}  // namespace wick
