#include <fmt/format.h>

#include <filesystem>

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX's

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <ostream>
#include <system_error>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/base/process.h"
#include "wick/base/suggest.h"
#include "wick/cli/commands/quantize_types.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/output_file.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_format.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/convert/quantize_file.h"
#include "wick/formats/gguf.h"
#include "wick/formats/gguf_type.h"
#include "wick/formats/importance_matrix.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/checkpoint/hugging_face.h"

namespace wick {
namespace {

// A Hugging Face folder as a GGUF file in a new folder that only this user may read, while this object lives: beside the result, whose
// disk must have room for it, or with the temporary files where no file is written.
class ConvertedFolder {
 public:
  // Errors: io where there can be no such folder; write_gguf's.
  ConvertedFolder(const Checkpoint& folder, const std::filesystem::path& out) {
    std::error_code ignored;
    const bool is_file = !out.empty() && (std::filesystem::is_regular_file(out, ignored) || !std::filesystem::exists(out, ignored));
    std::string name = ((is_file ? out.parent_path() : std::filesystem::temp_directory_path()) / "wick-quantize-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail(ErrorCode::io, "{}: {}", name, std::strerror(errno));
    folder_ = name;
    try {
      write_gguf(folder, path());
    } catch (...) {
      remove();
      throw;
    }
  }
  ~ConvertedFolder() { remove(); }
  ConvertedFolder(const ConvertedFolder&) = delete;
  ConvertedFolder& operator=(const ConvertedFolder&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return folder_ / "model.gguf"; }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path folder_;
};

struct Quantization {
  std::string in;
  std::string out;
  std::string type;
  std::string importance;
  std::vector<std::string> tensor_types;
  int threads = usable_cores();
  bool allow_requantize = false;
  bool dry_run = false;
};

// "[  3/ 99] blk.0.attn_q.weight  [512, 512]  F16 -> Q4_K  512.0 KiB -> 144.0 KiB"
std::string tensor_line(const GgufTensor& tensor, DType dtype, size_t number, size_t count) {
  const int64_t bytes = storage_bytes(dtype, tensor.shape.elements());
  const std::string types = dtype == tensor.dtype ? fmt::format("{} (kept)", ggml_name(dtype))
                                                  : fmt::format("{} -> {}", ggml_name(tensor.dtype), ggml_name(dtype));
  return fmt::format("[{:>4}/{:>4}] {:<36} {:<18} {:<16} {:>10} -> {:>10}", number + 1, count, printable(tensor.name),
                     tensor.shape.to_string(), types, format_bytes(tensor.data.size()), format_bytes(static_cast<uint64_t>(bytes)));
}

std::vector<std::string> mix_names() {
  std::vector<std::string> names;
  for (const MixInfo& mix : mix_infos()) names.emplace_back(mix.name);
  return names;
}

// Errors: those of parse_mix, with the name that was meant.
const MixInfo& mix_of(const std::string& name) {
  try {
    return parse_mix(name);
  } catch (const Error& error) {
    fail(error.code(), "{}{}", error.what(), did_you_mean(ascii_uppercase(name), mix_names()));
  }
}

// Errors: those of parse_keep_rule, with the flag that the rule was given by.
KeepRule keep_rule_of(const std::string& text) {
  try {
    return parse_keep_rule(text);
  } catch (const Error& error) {
    throw Error(error, fmt::format("--tensor-type: {}", error.what()));
  }
}

std::string indented(std::string text) {
  for (size_t at = text.find('\n'); at != std::string::npos && at + 1 < text.size(); at = text.find('\n', at + 1))
    text.insert(at + 1, "  ");
  return text;
}

// The size of all tensors as planned, and their elements.
struct PlannedSize {
  uint64_t bytes = 0;
  uint64_t elements = 0;

  [[nodiscard]] double bits() const { return elements == 0 ? 0 : 8 * static_cast<double>(bytes) / static_cast<double>(elements); }
};

PlannedSize size_of(const GgufFile& source, std::span<const PlannedType> plan) {
  PlannedSize size;
  for (size_t index = 0; index < plan.size(); ++index) {
    const int64_t elements = source.tensors()[index].shape.elements();
    size.bytes += static_cast<uint64_t>(storage_bytes(plan[index].dtype, elements));
    size.elements += static_cast<uint64_t>(elements);
  }
  return size;
}

void show_plan(const Console& console, const GgufFile& source, std::span<const PlannedType> plan) {
  for (size_t index = 0; index < plan.size(); ++index) {
    console.out << tensor_line(source.tensors()[index], plan[index].dtype, index, plan.size()) << '\n';
  }
  const PlannedSize size = size_of(source, plan);
  console.out << fmt::format("tensors: {} from {}, {:.2f} bits per weight; nothing was written\n", format_bytes(size.bytes),
                             format_bytes(source.file_bytes()), size.bits());
}

void write_quantized(const Console& console, const Quantization& request, const GgufFile& source, QuantizeOptions& options) {
  const std::vector<PlannedType> plan = check_plan(source, options);
  {
    ProgressBar bar(console, "quantizing");
    size_t lines = 0;
    options.progress = [&](uint64_t done, uint64_t total, const std::string& tensor) {
      // A line when a tensor begins; those that the writer takes together come together.
      while (lines < plan.size() && (lines == 0 || source.tensors()[lines - 1].name != tensor)) {
        bar.clear();
        if (!console.quiet) console.err << tensor_line(source.tensors()[lines], plan[lines].dtype, lines, plan.size()) << std::endl;
        ++lines;
      }
      bar.update(done, total, tensor);
    };
    quantize_file(source, request.out, options);
  }
  // A device such as /dev/null takes the bytes and keeps none.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(request.out, ignored)) return console.note(fmt::format("wrote {}", request.out));
  console.note(fmt::format("wrote {}: {} from {}, {:.2f} bits per weight", request.out,
                           format_bytes(GgufFile::open(request.out).file_bytes()), format_bytes(source.file_bytes()),
                           size_of(source, plan).bits()));
}

void quantize(const Console& console, const Quantization& request) {
  QuantizeOptions options;
  options.mix = &mix_of(request.type);
  for (const std::string& rule : request.tensor_types) options.keep.push_back(keep_rule_of(rule));
  options.threads = request.threads;
  options.allow_requantize = request.allow_requantize;
  std::optional<ImportanceMatrix> importance;
  if (!request.importance.empty()) {
    importance = ImportanceMatrix::read(request.importance);
    options.importance = &*importance;
    options.importance_file = request.importance;
  }
  options.notice = [&](const std::string& remark) { console.note(remark); };
  options.warning = [&](const std::string& remark) { console.warn(remark); };
  if (!request.out.empty()) check_writable(request.out, {request.importance});
  std::filesystem::path in = resolve_hub(console, request.in);
  std::optional<ConvertedFolder> converted;
  if (is_hugging_face_folder(in)) {
    const Checkpoint folder = Checkpoint::open(in);
    if (!request.out.empty()) refuse_to_overwrite(folder, request.out);
    in = converted.emplace(folder, request.out).path();
  }
  const GgufFile source = GgufFile::open(in);
  if (!request.out.empty()) refuse_to_overwrite(source, request.out);
  if (request.dry_run) return show_plan(console, source, check_plan(source, options));
  write_quantized(console, request, source, options);
}

}  // namespace

void quantize_command(Console& console, const Arguments& arguments) {
  Quantization request;
  bool list = false;
  Flags flags("Quantizes a model with llama.cpp's mixes. OUT is written to a temporary file and renamed on success.", console);
  flags.add_argument("IN", "the model: a GGUF file, or a Hugging Face folder", request.in).path();
  flags.add_argument("OUT", "the file to write", request.out).path();
  flags.add_argument("TYPE", "the mix, such as Q4_K_M, in upper or lower case; see below", request.type).choices(mix_names());
  flags.add_switch("--list", "print the types with their sizes", list);
  flags.add_switch("--dry-run", "print each tensor's new type and the size; write nothing", request.dry_run);
  flags.add_switch("--allow-requantize", "quantize tensors that are already quantized, at a greater loss than from full precision",
                   request.allow_requantize);
  flags.add_text("--imatrix", "FILE", "an importance matrix, from wick imatrix", request.importance);
  flags.add_values("--tensor-type,--keep", "REGEX=TYPE", "use TYPE for tensors whose name matches REGEX; repeatable", request.tensor_types);
  add_threads(flags, request.threads);
  add_verbosity(flags, console);
  flags.notes("Types, with bits per weight and size of a Llama of 8 billion parameters:\n  " + indented(quantization_table()));
  flags.examples({"wick quantize model-f16.gguf model-q4_k_m.gguf Q4_K_M", "wick quantize model-f16.gguf out.gguf Q4_K_M --dry-run",
                  "wick quantize in-f16.gguf out.gguf IQ2_XS --imatrix in.imatrix.gguf --tensor-type attn_v=q8_0"});
  if (!flags.parse(arguments)) return;
  if (list) {
    console.out << quantization_table();
    return;
  }
  if (request.dry_run && request.type.empty()) std::swap(request.out, request.type);  // there is no OUT to name
  for (const auto& [name, value] : {std::pair("IN", &request.in), std::pair("OUT", &request.out), std::pair("TYPE", &request.type)}) {
    if (value->empty() && !(request.dry_run && value == &request.out))
      fail(ErrorCode::invalid_argument, "{} is missing: wick quantize IN OUT TYPE; see wick quantize --help", name);
  }
  quantize(console, request);
}

}  // namespace wick
