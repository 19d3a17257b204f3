#include "wick/cli/commands/receipt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>
#include <type_traits>
#include <utility>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/mapped_file.h"
#include "wick/cli/build_info.h"
#include "wick/cli/flags/adapter_flags.h"
#include "wick/cli/hub/sha256.h"
#include "wick/cli/text_format.h"
#include "wick/cli/text_input.h"
#include "wick/server/utc_time.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "wick-receipt/1";

// The checksum covers the text of the receipt without the checksum itself.
std::string checksum_of(Json receipt) {
  receipt.erase("sha256");
  return sha256_of(json_text(receipt));
}

// Opened again, so that pages of a mapping that were forgotten stay so.
Json describe_file(const std::filesystem::path& path) {
  const std::shared_ptr<MappedFile> file = MappedFile::open(path);
  return {{"path", std::filesystem::absolute(path).string()}, {"bytes", file->bytes().size()}, {"sha256", sha256_of(file->bytes())}};
}

Json describe_model(const LoadedModel& loaded) {
  Json parts = Json::array();
  std::set<const MappedFile*> seen;
  for (const CheckpointTensor& tensor : loaded.file.tensors()) {
    if (tensor.file == nullptr || !seen.insert(tensor.file.get()).second) continue;
    parts.push_back(describe_file(tensor.file->path()));
  }
  return {{"name", loaded.model->info().name}, {"architecture", loaded.model->info().architecture}, {"files", std::move(parts)}};
}

// The files of an adapter: itself, or those in a folder of PEFT's form.
Json describe_adapter(const AdapterFile& adapter) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(adapter.path)) {
    for (const auto& entry : std::filesystem::directory_iterator(adapter.path)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
  } else {
    paths.emplace_back(adapter.path);
  }
  Json files = Json::array();
  for (const std::filesystem::path& path : paths) files.push_back(describe_file(path));
  return {{"scale", decimal_of(adapter.scale)}, {"files", std::move(files)}};
}

Json describe_device(const ReceiptSubject& subject) {
  const Device& device = subject.loaded.model->device();
  Json fallback = Json::array();
  if (const OpFallback* ops = device.runtime().op_fallback()) {
    for (const OpFallback::Row& row : ops->rows()) fallback.push_back(info(row.op).name);
  }
  Json description = {{"requested", subject.requested_device},
                      {"selected", device.location().to_string()},
                      {"name", device.caps().name},
                      {"driver", device.caps().driver},
                      {"threads", device.caps().compute_units},
                      {"cpu_expert_layers", subject.placement.host_expert_layers},
                      {"fallback_ops", std::move(fallback)}};
  if (subject.placement.device_layers) description["gpu_layers"] = *subject.placement.device_layers;
  return description;
}

Json describe_sampling(const SamplingParams& sampling) {
  Json biases = Json::array(), order = Json::array();
  for (const LogitBias& entry : sampling.logit_bias) biases.push_back({{"token", entry.token}, {"bias", decimal_of(entry.bias)}});
  for (const SamplingStep step : sampling.order) order.push_back(to_string(step));
  Json description = Json::object();
  for (const SamplingParameter& row : kSamplingParameters) {
    row.visit(sampling, [&]<class T>(T value) {
      Json& member = description[std::string(row.name)];
      if constexpr (std::is_same_v<T, float>) {
        member = decimal_of(value);
      } else {
        member = value;
      }
    });
  }
  description["dry_breakers_sha256"] = sha256_of(json_text(Json(sampling.dry_breakers)));  // thousands of tokens
  description["logit_bias"] = std::move(biases);
  description["samplers"] = std::move(order);
  return description;
}

Json describe_format(const OutputFormat& format) {
  Json choices = Json::array();
  for (const std::string& choice : format.choices) choices.push_back(sha256_of(choice));
  return {{"kind", static_cast<int>(format.kind)}, {"text_sha256", sha256_of(format.text)}, {"choices_sha256", std::move(choices)}};
}

// Whatever the text depends on is a member: requests that may give other texts differ. Texts are there by their SHA-256.
Json describe_request(const ReceiptSubject& subject) {
  const GenerationParams& params = subject.params;
  Json request = {{"prompt_sha256", sha256_of(subject.prompt)},
                  {"prompt_tokens", subject.report.result.prompt_tokens},
                  {"parse_special", params.parse_special},
                  {"max_tokens", params.max_tokens},
                  {"context", subject.context},
                  {"ignore_eos", params.ignore_eos},
                  {"stop_tokens", params.stop_tokens},
                  {"precise", subject.precision.precise},
                  {"fast", subject.precision.fast},
                  {"deterministic", subject.precision.deterministic},
                  {"kv_type", to_string(subject.precision.cache_dtype())},
                  {"seed", subject.report.result.seed}};
  request.update(describe_sampling(params.sampling));
  Json& stops = request["stop_sha256"] = Json::array();
  for (const std::string& stop : params.stop) stops.push_back(sha256_of(stop));
  Json& adapters = request["adapters"] = Json::array();
  for (const std::string& value : subject.adapters) adapters.push_back(describe_adapter(parse_adapter_file(value)));
  request["format"] = subject.format ? describe_format(*subject.format) : Json();
  return request;
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
  for (const Json& token : tokens) {
    if (!token.is_number_unsigned()) fail(ErrorCode::corrupt_file, "{}: 'tokens' holds {}, no token", path.string(), json_text(token));
  }
  if (tokens.size() > member(path, request, "max_tokens", Json::value_t::number_unsigned).get<uint64_t>()) {
    fail(ErrorCode::corrupt_file, "{}: {} tokens are more than 'max_tokens'", path.string(), tokens.size());
  }
  const Json& timings = member(path, receipt, "timings", Json::value_t::object);
  for (const char* name : {"load_seconds", "prefill_seconds", "decode_seconds"}) {
    const double seconds = member(path, timings, name, Json::value_t::number_float).get<double>();
    if (!std::isfinite(seconds) || seconds < 0) fail(ErrorCode::corrupt_file, "{}: '{}' is {}", path.string(), name, seconds);
  }
  if (timings["prefill_seconds"] == 0) fail(ErrorCode::corrupt_file, "{}: 'prefill_seconds' is 0: nothing was computed", path.string());
}

// `where`: the file is there now; empty: where the receipt says.
void check_file(const std::filesystem::path& path, const Json& file, const std::string& where, std::string_view what) {
  const std::string recorded = member(path, file, "path", Json::value_t::string);
  const std::string expected = member(path, file, "sha256", Json::value_t::string);
  const std::string& now = where.empty() ? recorded : where;
  const std::string found = sha256_of(MappedFile::open(now)->bytes());
  if (found == expected) return;
  fail(ErrorCode::invalid_argument, "{}: its SHA-256 is {}, and {} says {}: it is not the {} file of this receipt", now, found,
       path.string(), expected, what);
}

void check_model(const std::filesystem::path& path, const Json& receipt, const std::string& model) {
  const Json& files = member(path, member(path, receipt, "model", Json::value_t::object), "files", Json::value_t::array);
  if (files.empty()) fail(ErrorCode::corrupt_file, "{}: it names no model file", path.string());
  if (!model.empty() && files.size() > 1) {
    fail(ErrorCode::invalid_argument, "--model: the receipt is of a model in {} parts; put them where it names them", files.size());
  }
  for (const Json& file : files) check_file(path, file, model, "model");
  // Receipts of earlier versions have none.
  const Json& request = receipt["request"];
  if (!request.contains("adapters")) return;
  for (const Json& adapter : member(path, request, "adapters", Json::value_t::array)) {
    for (const Json& file : member(path, adapter, "files", Json::value_t::array)) check_file(path, file, {}, "adapter");
  }
}

}  // namespace

void write_receipt(const std::filesystem::path& path, const ReceiptSubject& subject) {
  const GenerationResult& result = subject.report.result;
  uint64_t launched = 0;
  for (const auto& [name, count] : subject.kernels) launched += count;
  Json receipt = {
      {"schema", kSchema},
      {"created", server::utc_seconds(std::time(nullptr))},
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
  (void)member(path, receipt, "created", Json::value_t::string);
  (void)member(path, member(path, receipt, "build", Json::value_t::object), "commit", Json::value_t::string);
  check_kernels(path, receipt);
  check_result(path, receipt);
  check_model(path, receipt, model);
  return receipt;
}

}  // namespace wick
