#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/process.h"
#include "wick/base/terminal_text.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/text_format.h"
#include "wick/engine/generator.h"
#include "wick/formats/safetensors_dtype.h"
#include "wick/model/architectures/architecture.h"

namespace wick {
namespace {

// How far the logits of llama.cpp's small random models are from its own.
struct ArchitectureProof {
  std::string_view architecture, error;
};
constexpr ArchitectureProof kArchitectureProofs[] = {
#include "wick/cli/commands/architecture_proofs.inc"
};

std::string_view error_to_llama_cpp(std::string_view architecture) {
  for (const ArchitectureProof& proof : kArchitectureProofs) {
    if (proof.architecture == architecture) return proof.error;
  }
  return "–";
}

struct Check {
  std::string name;
  bool passed = true;
  std::string detail;
};

// Runs one check: `body` returns what it found, or throws what is wrong.
bool run_check(const Console& console, std::vector<Check>& checks, const std::string& name, const std::function<std::string()>& body) {
  Check check{.name = name, .passed = true, .detail = {}};
  try {
    check.detail = body();
  } catch (const Error& error) {
    check.passed = false;
    check.detail = console.message_of(error);
  }
  checks.push_back(check);
  return check.passed;
}

std::string describe_types(const Checkpoint& file) {
  std::map<std::string_view, int64_t> counts;
  for (const CheckpointTensor& tensor : file.tensors()) ++counts[file_type_name(tensor.dtype)];
  std::vector<std::string> parts;
  for (const auto& [type, count] : counts) parts.push_back(fmt::format("{} {}", count, type));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string check_architecture(const Checkpoint& file) {
  const std::string_view own = file.get_string("general.architecture");
  const std::vector<std::string_view> known = supported_architectures();
  if (std::find(known.begin(), known.end(), own) != known.end()) return std::string(own);
  fail(ErrorCode::unsupported, "'{}' is not supported; this version runs {}", own, fmt::join(known, ", "));
}

// Weights stay in the mapped file: the cache for the whole context must fit into memory, and the weights should.
std::string check_memory(const LanguageModel& model) {
  const uint64_t memory = physical_memory_bytes();
  const uint64_t file = model.info().file_bytes;
  if (memory == 0) return format_bytes(file) + " of weights; the system does not tell its memory";
  if (file > memory) {
    fail(ErrorCode::out_of_memory, "{} of weights and {} of memory: the model would be read from disk for each token", format_bytes(file),
         format_bytes(memory));
  }
  return fmt::format("{} of weights, {} of memory", format_bytes(file), format_bytes(memory));
}

std::vector<Check> check_model(const Console& console, const std::filesystem::path& path, const DeviceChoice& choice, int threads) {
  std::vector<Check> checks;
  std::optional<Checkpoint> file;
  const bool opened = run_check(console, checks, "file", [&] {
    file = Checkpoint::open(path);
    const std::string form = file->gguf() == nullptr ? "Hugging Face folder" : fmt::format("GGUF version {}", file->gguf()->version());
    return fmt::format("{}, {}", form, format_bytes(file->file_bytes()));
  });
  if (!opened) return checks;
  run_check(console, checks, "architecture", [&] { return check_architecture(*file); });
  run_check(console, checks, "tensor types", [&] { return describe_types(*file); });
  std::shared_ptr<const Tokenizer> tokenizer;
  run_check(console, checks, "tokenizer", [&] {
    tokenizer = load_tokenizer(*file);
    return fmt::format("{} tokens", tokenizer->vocab_size());
  });
  std::unique_ptr<LanguageModel> model;
  const bool loaded = run_check(console, checks, "model", [&] {
    const ModelDevice on = open_model_device(console, choice, threads);
    model = load_language_model(*file, on.device, {.placement = on.placement});
    return fmt::format("{} parameters, context {}, on {}", format_count(static_cast<uint64_t>(model->info().parameters)),
                       model->info().context_length, on.device.location().to_string());
  });
  if (loaded && tokenizer != nullptr) {
    run_check(console, checks, "vocabulary", [&] {
      check_vocabulary(model->info(), *tokenizer);
      return fmt::format("an embedding of {} rows", model->info().vocab_size);
    });
  }
  if (loaded) run_check(console, checks, "memory", [&] { return check_memory(*model); });
  return checks;
}

void print_architectures(const Console& console) {
  console.out << "| architecture | models | Hugging Face classes | NMSE to llama.cpp |\n|---|---|---|---|\n";
  for (const Architecture* architecture : architectures()) {
    const auto classes = architecture->hugging_face.classes;
    console.out << fmt::format("| `{}` | {} | {} | {} |\n", architecture->name, architecture->models,
                               classes.empty() ? "GGUF files alone" : fmt::format("`{}`", fmt::join(classes, "`, `")),
                               error_to_llama_cpp(architecture->name));
  }
}

}  // namespace

void compat_check_command(Console& console, const Arguments& arguments) {
  std::string model;
  DeviceChoice device;
  int threads = 0;
  bool json = false;
  Flags flags("Checks whether this program can run a model file: its format, architecture, tensor types, tokenizer, tensors and size.",
              console);
  flags.add_argument("MODEL", "a GGUF model, a folder with one, or a Hugging Face folder", model).required().path();
  add_device(flags, device);
  add_threads(flags, threads);
  add_json(flags, json);
  add_verbosity(flags, console);
  flags.examples({"wick compat-check model.gguf", "wick compat-check model.gguf --json"});
  if (!flags.parse(arguments)) return;
  const auto path = resolve_model(console, model);
  const std::vector<Check> checks = check_model(console, path, device, threads);
  const auto failed = std::find_if(checks.begin(), checks.end(), [](const Check& check) { return !check.passed; });
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    list.push_back({{"check", check.name}, {"passed", check.passed}, {"detail", check.detail}});
    if (!json) console.out << fmt::format("{:<14} {:<5} {}\n", check.name, check.passed ? "ok" : "FAIL", without_controls(check.detail));
  }
  if (json) {
    const nlohmann::ordered_json result = {{"model", path.string()}, {"compatible", failed == checks.end()}, {"checks", list}};
    console.out << json_without_controls(json_text(result, 2)) << '\n';
  }
  if (failed != checks.end()) fail(ErrorCode::unsupported, "{}: cannot be run: {}", path.string(), failed->detail);
}

void list_architectures_command(Console& console, const Arguments& arguments) {
  bool json = false;
  bool markdown = false;
  Flags flags("Lists the architectures that this version runs, as general.architecture of a GGUF file names them.", console);
  add_json(flags, json);
  flags.add_switch("--markdown", "print the table of docs/models.md", markdown);
  flags.examples({"wick list-architectures", "wick list-architectures --json"});
  if (!flags.parse(arguments)) return;
  if (markdown) return print_architectures(console);
  const std::vector<std::string_view> names = supported_architectures();
  if (json) {
    console.out << json_text(nlohmann::json(names)) << '\n';
    return;
  }
  for (const std::string_view name : names) console.out << name << '\n';
}

}  // namespace wick
