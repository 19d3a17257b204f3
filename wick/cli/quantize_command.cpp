#include <fmt/format.h>

#include <filesystem>

#include <algorithm>
#include <optional>
#include <ostream>

#include "wick/base/error.h"
#include "wick/base/process.h"
#include "wick/cli/flags.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_format.h"
#include "wick/cli/wick_command.h"
#include "wick/formats/gguf.h"
#include "wick/formats/importance_matrix.h"
#include "wick/model/quantize_file.h"

namespace wick {
namespace {

std::string mix_names() {
  std::string names;
  for (const MixInfo& mix : mix_infos()) names += (names.empty() ? "" : " ") + std::string(mix.name);
  return names;
}

struct Request {
  std::string in;
  std::string out;
  std::string type;
  std::string importance;
  std::vector<std::string> keep;
  int threads = usable_cores();
};

void quantize(const Console& console, const Request& request) {
  QuantizeOptions options;
  options.mix = &parse_mix(request.type);
  for (const std::string& rule : request.keep) options.keep.push_back(parse_keep_rule(rule));
  options.threads = request.threads;
  std::optional<ImportanceMatrix> importance;
  if (!request.importance.empty()) {
    importance = ImportanceMatrix::read(request.importance);
    options.importance = &*importance;
    options.importance_file = request.importance;
  }
  options.notice = [&](const std::string& remark) { console.note(remark); };
  const GgufFile source = GgufFile::open(request.in);
  uint64_t elements = 0;
  {
    ProgressBar bar(console, "quantizing");
    options.progress = [&](uint64_t done, uint64_t total, const std::string& tensor) {
      elements = done;
      bar.update(done, total, tensor);
    };
    quantize_file(source, request.out, options);
  }
  // A device such as /dev/null takes the bytes and keeps none.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(request.out, ignored)) return console.note(fmt::format("wrote {}", request.out));
  const uint64_t bytes = std::filesystem::file_size(request.out, ignored);
  const double bits = elements == 0 ? 0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(elements);
  console.note(fmt::format("wrote {}: {} from {}, {:.2f} bits per weight", request.out, format_bytes(bytes),
                           format_bytes(source.file_bytes()), bits));
}

}  // namespace

void quantize_command(Console& console, const Arguments& arguments) {
  Request request;
  Flags flags("Turns a GGUF model into one of another type. IN and OUT are files; TYPE is one of\n" + mix_names() +
                  ".\nTensors get the types that llama.cpp gives them in that mix; the file is written beside OUT and takes its name when "
                  "it is whole.",
              console);
  flags.add_argument("IN", "the model", request.in).required();
  flags.add_argument("OUT", "the file to write", request.out).required();
  flags.add_argument("TYPE", "the mix, such as Q4_K_M", request.type).required();
  flags.add_value("--imatrix", "FILE", "importance of the weights, from wick imatrix",
                  [&](const std::string& value) { request.importance = value; });
  flags.add_values("--keep", "REGEX=TYPE", "tensors whose names the pattern finds get TYPE; may be given again and again", request.keep);
  add_threads(flags, request.threads);
  add_verbosity(flags, console);
  flags.footer(examples({"wick quantize model-f16.gguf model-q4_k_m.gguf Q4_K_M",
                         "wick quantize model-f16.gguf model-iq2_xs.gguf IQ2_XS --imatrix model.imatrix.gguf --keep 'attn_v=q8_0'"}));
  if (!flags.parse(arguments)) return;
  quantize(console, request);
}

}  // namespace wick
