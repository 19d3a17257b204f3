#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <ostream>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/measure/activation_trace.h"
#include "wick/cli/text_input.h"

namespace wick {
namespace {

struct Side {
  std::string name;
  DeviceChoice device = {.name = "cpu"};
};

struct TraceDiff {
  Side first, second;
  std::optional<std::string> text, token_list;
  std::string save;
  double tolerance = 1e-6;
  int threads = 0;
  Precision precision = {.precise = true, .fast = false, .kv_type = {}};
  bool json = false;
};

bool is_dump(const std::string& name) { return std::filesystem::path(name).extension() == ".safetensors"; }

ActivationTrace trace_of(const Console& console, const TraceDiff& request, const Side& side) {
  if (is_dump(side.name)) return ActivationTrace::load(side.name);
  ActivationTrace trace;
  const WithTokenizer tokenizer = request.token_list ? WithTokenizer::no : WithTokenizer::yes;
  const LoadedModel loaded = load_model(console, resolve_model(console, side.name), open_device(console, side.device, request.threads),
                                        request.precision, tokenizer, trace.observer());
  const std::vector<TokenId> tokens =
      request.token_list ? parse_tokens(*request.token_list, "--tokens") : loaded.tokenizer->encode(*request.text);
  if (tokens.empty()) fail(ErrorCode::invalid_argument, "no tokens; at least one is needed");
  trace.run(*loaded.model, tokens);
  return trace;
}

void compare(const Console& console, const TraceDiff& request) {
  const ActivationTrace first = trace_of(console, request, request.first);
  if (!request.save.empty()) first.save(request.save);
  if (request.second.name.empty()) return;
  const ActivationTrace second = trace_of(console, request, request.second);
  const ActivationTrace::Agreement agreement = first.agreement(second);
  if (agreement.points == 0) {
    fail(ErrorCode::invalid_argument, "{} and {} have no point in common; names are those of weights, such as blk.0.attn_q",
         request.first.name, request.second.name);
  }
  const std::optional<ActivationTrace::Difference> difference = first.first_difference(second, request.tolerance);
  if (request.json) {
    nlohmann::ordered_json json = {{"points", agreement.points}, {"equal", !difference}};
    if (difference) {
      json["first"] = {{"input_of", difference->point},
                       {"error", std::isfinite(difference->error) ? nlohmann::json(difference->error) : nlohmann::json()},
                       {"largest", difference->largest},
                       {"token", difference->row},
                       {"element", difference->column}};
    }
    console.out << json_text(json, 2) << '\n';
  } else if (!difference) {
    console.out << fmt::format("equal: {} points, none further apart than {:.3g} of its square sum\n", agreement.points, agreement.error);
  }
  if (!difference) return;
  const std::string what = difference->point == "output" ? "the logits" : fmt::format("the input of {}", difference->point);
  if (!difference->shapes.empty())
    fail(ErrorCode::shape_mismatch, "{} is the first that differs: its shapes are {}", what, difference->shapes);
  fail(ErrorCode::invalid_argument, "{} is the first that differs: by {:.3g} of its square sum, most at token {}, element {}: {:.6g}", what,
       difference->error, difference->row, difference->column, difference->largest);
}

}  // namespace

void trace_diff_command(Console& console, const Arguments& arguments) {
  TraceDiff request;
  Flags flags(
      "Runs a text through two models, or one model on two devices, and finds the first matrix whose input differs: what was computed\n"
      "before it does. A .safetensors file stands for a run: of --save, or of another program, with a tensor [tokens, columns] for the\n"
      "input of each weight, by the weight's name (blk.0.attn_q), and the logits as output.",
      console);
  flags.add_argument("A", "a model", request.first.name).required().path();
  flags.add_argument("B", "another, the same for another device, or a .safetensors file", request.second.name).path();
  const Flags::Added text =
      flags.add_value("-p,--prompt,--text", "TEXT", "the text", [&](const std::string& value) { request.text = value; });
  flags.add_value("--tokens", "IDS", "token ids like 0,5,9 instead", [&](const std::string& value) { request.token_list = value; })
      .excludes(text);
  flags.add_text("--device-a", "DEVICE", "where A runs (cpu)", request.first.device.name);
  flags.add_text("--device-b", "DEVICE", "where B runs (cpu)", request.second.device.name);
  flags.add_value("--tolerance", "X", "the largest share of a point's square sum that counts as equal (1e-6)",
                  [&](const std::string& value) { request.tolerance = parse_decimal("--tolerance", value, 0, 1e9); });
  flags.add_text("--save", "FILE", "write A's run as a .safetensors file; B may be left out then", request.save);
  add_threads(flags, request.threads);
  add_json(flags, request.json);
  add_verbosity(flags, console);
  flags.examples({"wick trace-diff a.gguf b.gguf --tokens 1,2,3", "wick trace-diff a.gguf a.gguf --device-b opencl --prompt \"Once\"",
                  "wick trace-diff FOLDER model.gguf --tokens 5,6,7"});
  if (!flags.parse(arguments)) return;
  const bool runs = !is_dump(request.first.name) || (!request.second.name.empty() && !is_dump(request.second.name));
  if (runs && !request.text && !request.token_list) fail(ErrorCode::invalid_argument, "nothing to compute: give --prompt or --tokens");
  if (request.second.name.empty() && request.save.empty())
    fail(ErrorCode::invalid_argument, "one run alone: name a second one, or a file to --save");
  compare(console, request);
}

}  // namespace wick
