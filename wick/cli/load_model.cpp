#include "wick/cli/load_model.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/process.h"
#include "wick/cli/output_file.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_format.h"
#include "wick/device/selection.h"
#include "wick/engine/generator.h"

namespace wick {

void check_fakes(const Console& console, bool strict, bool explicit_device) {
  if (!console.fake_probe.empty() && (strict || explicit_device)) {
    fail(ErrorCode::invalid_argument, "WICK_FAKE_PROBE is set, and strict mode ({}) takes no fake devices; unset it",
         strict ? "--strict" : "an explicit device");
  }
}

// A trace takes the place of an older trace, and of no other file, such as the model.
void check_trace_file(const std::string& path) {
  constexpr std::string_view kBegin = "{\"displayTimeUnit\"";
  std::string begin(kBegin.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  if (file && (!file.read(begin.data(), static_cast<std::streamsize>(begin.size())) || begin != kBegin)) {
    fail(ErrorCode::invalid_argument, "--trace {}: the file is there and holds no trace; name another, or delete it", path);
  }
  check_writable(path);
}

namespace {

DeviceOptions device_options(const Console& console, const DeviceChoice& choice, int threads) {
  const auto variant = console.environment.find("WICK_VARIANT");
  return {.threads = threads,
          .variant = variant == console.environment.end() ? "" : variant->second,
          .cache_directory = console.cache_directory,
          .validate = choice.validate,
          .trace_file = choice.trace_file,
          .cpu_fallback = choice.cpu_fallback};
}

}  // namespace

Device open_device(const Console& console, const DeviceChoice& choice, int threads) {
  const bool automatic = choice.name == "auto";
  check_fakes(console, choice.strict, !automatic);
  if (choice.strict && choice.cpu_fallback) {
    fail(ErrorCode::invalid_argument, "--fallback-ops cpu: --strict allows no second device; leave one of the two out");
  }
  if (!choice.trace_file.empty()) check_trace_file(choice.trace_file);
  const DeviceOptions options = device_options(console, choice, threads);
  Device device = automatic ? Device::best(options, {.strict = choice.strict, .fake = FakeProbe::parse(console.fake_probe)})
                            : Device::open_requested(Device::parse_location(choice.name), options, {});
  if (console.decorate_device) device = console.decorate_device(device);
  if (choice.cpu_fallback && device.is_cpu()) console.note("--fallback-ops cpu: the device is the CPU already, so nothing falls back");
  if (const int cores = usable_cores(); threads > cores) {
    console.note(fmt::format("--threads {}: this process may use {} core{}; more threads than that only wait for each other", threads,
                             cores, cores == 1 ? "" : "s"));
  }
  for (const auto& [given, flag] : {std::pair(!choice.trace_file.empty(), "--trace"), std::pair(choice.validate, "--validate")}) {
    if (!given || device.runtime().runs_kernels()) continue;
    fail(ErrorCode::invalid_argument, "{}: {} runs no kernels that could be watched; leave it out, or name an accelerator with --device",
         flag, device.location().to_string());
  }
  return device;
}

ModelDevice open_model_device(const Console& console, const DeviceChoice& choice, int threads) {
  const bool moves_experts = choice.all_cpu_experts || choice.cpu_expert_layers > 0;
  const std::string flag = choice.gpu_layers        ? fmt::format("--gpu-layers {}", *choice.gpu_layers)
                           : choice.all_cpu_experts ? "--cpu-moe"
                                                    : fmt::format("--n-cpu-moe {}", choice.cpu_expert_layers);
  const bool on_cpu_alone = choice.gpu_layers == 0 && choice.name == "auto";
  DeviceChoice own = choice;
  if (on_cpu_alone) own.name = "cpu";
  Device device = open_device(console, own, threads);
  if (on_cpu_alone || (!choice.gpu_layers && !moves_experts)) return device;
  if (device.is_cpu()) {
    fail(ErrorCode::invalid_argument,
         "{}: the device is {}, which computes all of the model; name a GPU with --device (wick devices lists them), or leave the flag out",
         flag, device.location().to_string());
  }
  PlacementOptions placement{.host = Device::open({DeviceKind::cpu, 0}, {.threads = threads}),
                             .device_layers = choice.gpu_layers,
                             .host_expert_layers = choice.all_cpu_experts ? PlacementOptions::kAllLayers : choice.cpu_expert_layers};
  return {std::move(device), std::move(placement)};
}

void note_fallback_ops(const Console& console, const Device& device) {
  const OpFallback* const fallback = device.runtime().op_fallback();
  if (fallback == nullptr) return;
  for (const OpFallback::Row& row : fallback->rows()) {
    console.note(fmt::format("fallback op={} device={} ran_on=cpu calls={} ms={:.3f}", to_string(row.op), device.location().to_string(),
                             row.calls, row.seconds * 1000));
  }
}

std::string Precision::describe() const {
  std::string text = precise ? ", precise" : fast ? ", fast" : "";
  if (deterministic) text += ", deterministic";
  if (kv_type) text += fmt::format(", KV {}", to_string(*kv_type));
  return text;
}

Flags::Added add_pooling(Flags& flags, std::optional<Pooling>& pooling, bool* each_token) {
  const bool may_be_none = each_token != nullptr;
  std::vector<std::string> choices = {"mean", "cls", "last", "max", "mean_sqrt", "weighted_mean"};
  if (may_be_none) choices.emplace_back(kNoPooling);
  return flags
      .add_value("--pooling", "KIND",
                 fmt::format("how the vectors of a text's tokens become one: {}{} (as the model's file says, else mean)", pooling_words(),
                             may_be_none ? ", or none, for /embedding alone" : ""),
                 [&pooling, each_token](const std::string& text) {
                   pooling = parse_pooling(text);
                   if (each_token != nullptr) *each_token = text == kNoPooling;
                   if (pooling || (each_token != nullptr && *each_token)) return;
                   fail(ErrorCode::invalid_argument, "--pooling {}: must be one of {}{}", text, pooling_words(),
                        each_token == nullptr ? std::string() : fmt::format(", {}", kNoPooling));
                 })
      .choices(choices);
}

void add_precision(Flags& flags, Precision& precision) {
  const Flags::Added precise =
      flags.add_switch("--precise", "compute with f32 activations and KV cache throughout (slower)", precision.precise);
  flags
      .add_switch("--fast",
                  "multiply F16 weights in bf16 on CPUs that support it: prompts about twice as fast, 8 bits of precision instead of 11",
                  precision.fast)
      .excludes(precise);
  flags.add_switch("--deterministic",
                   "bit-identical results whatever the batch, its chunks and the number of threads (slower prompt processing)",
                   precision.deterministic);
  flags
      .add_value("--kv-type", "TYPE", "type of the KV cache: f32, f16, bf16 or q8_0 (f16; with --precise f32)",
                 [&precision](const std::string& text) {
                   const std::optional<DType> dtype = parse_dtype(text);
                   if (!dtype || !is_cache_dtype(*dtype))
                     fail(ErrorCode::invalid_argument, "--kv-type '{}': it must be f32, f16, bf16 or q8_0", text);
                   precision.kv_type = dtype;
                 })
      .choices({"f32", "f16", "bf16", "q8_0"});
}

LoadedModel load_model(const Console& console, const std::filesystem::path& path, const ModelDevice& on, const Precision& precision,
                       WithTokenizer with_tokenizer, InputObserver observe, const server::Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  LoadedModel loaded{.file = Checkpoint::open(path), .tokenizer = {}, .model = {}};
  {
    ProgressBar bar(console, "loading");
    server::LoadingState state;
    const auto tell = [&] {
      if (progress) progress(state);
    };
    loaded.model = load_language_model(loaded.file, on.device,
                                       {.precise = precision.precise,
                                        .fast = precision.fast,
                                        .deterministic = precision.deterministic,
                                        .progress =
                                            [&](uint64_t done, uint64_t total) {
                                              bar.update(done, total);
                                              state.bytes = done;
                                              state.total_bytes = total;
                                              tell();
                                            },
                                        .layer_progress =
                                            [&](int64_t done, int64_t total) {
                                              state.layers = done;
                                              state.total_layers = total;
                                              tell();
                                            },
                                        .observe = std::move(observe),
                                        .kv_type = precision.kv_type,
                                        .placement = on.placement});
  }
  if (with_tokenizer == WithTokenizer::yes) {
    loaded.tokenizer = load_tokenizer(loaded.file);
    check_vocabulary(loaded.model->info(), *loaded.tokenizer);
  }
  loaded.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const ModelInfo& info = loaded.model->info();
  const Device& device = on.device;
  const DeviceCaps& caps = device.caps();
  const bool is_cpu = device.location().kind == DeviceKind::cpu;
  console.note(fmt::format("running on {} ({}, {}{})", device.location().to_string(), caps.name, caps.driver,
                           is_cpu ? fmt::format(", {} thread{}", caps.compute_units, caps.compute_units == 1 ? "" : "s") : ""));
  const Placement* const placement = loaded.model->placement();
  if (placement != nullptr && (!placement->is_single() || !placement->main().same_device(device))) {
    console.note("placement: " + placement->describe());
  }
  console.detail(fmt::format("loaded {} ({}, {} parameters, {}) in {:.3f} s on {} ({}), threads {}{}", info.name, info.architecture,
                             format_count(static_cast<uint64_t>(info.parameters)), format_bytes(info.file_bytes), loaded.load_seconds,
                             device.location().to_string(), caps.driver, caps.compute_units, precision.describe()));
  return loaded;
}

}  // namespace wick
