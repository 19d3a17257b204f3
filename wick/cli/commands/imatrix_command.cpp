#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>

#include "wick/base/fail.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/output_file.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_format.h"
#include "wick/cli/text_input.h"
#include "wick/convert/importance_collector.h"
#include "wick/formats/importance_matrix.h"

namespace wick {
namespace {

struct ImatrixOptions {
  std::string model;
  std::string file;
  std::string out;
  DeviceChoice device;
  int64_t context = 512;
  int64_t chunks = 0;
  int threads = 0;
};

void collect(const Console& console, const ImatrixOptions& options) {
  check_writable(options.out, {options.file});
  const std::string text_file = read_text_file(options.file);
  ImportanceCollector collector;
  const auto path = resolve_model(console, options.model);
  const LoadedModel loaded = load_model(console, path, open_model_device(console, options.device, options.threads),
                                        Precision{.precise = true, .fast = false, .kv_type = {}}, WithTokenizer::yes,
                                        [&](const WeightInput& input) { collector.add(input); });
  refuse_to_overwrite(loaded.file, options.out);
  const ModelInfo& info = loaded.model->info();
  if (options.context > info.context_length) {
    fail(ErrorCode::context_full, "--context {}: the context of {} holds {}", options.context, info.name, info.longest());
  }
  const std::optional<TokenId> bos = loaded.tokenizer->bos();
  std::vector<TokenId> tokens;
  if (bos) tokens.push_back(*bos);
  const auto text = loaded.tokenizer->encode(text_file, {.add_special = false, .parse_special = false});
  tokens.insert(tokens.end(), text.begin(), text.end());
  const int64_t available = static_cast<int64_t>(tokens.size()) / options.context;
  if (available == 0 || options.chunks > available) {
    fail(ErrorCode::invalid_argument, "{}: {} tokens are {} chunks of {}; give a longer text, fewer --chunks or a smaller --context",
         options.file, tokens.size(), available, options.context);
  }
  const int64_t chunks = options.chunks > 0 ? options.chunks : available;
  const std::unique_ptr<CachedSequence> cache = loaded.model->new_sequence(options.context);
  {
    ProgressBar bar(console, "imatrix");
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const auto part = std::span(tokens).subspan(static_cast<size_t>(chunk * options.context), static_cast<size_t>(options.context));
      if (bos) part[0] = *bos;  // each chunk begins as texts do, as in llama.cpp
      cache->truncate(0);
      static_cast<void>(loaded.model->forward(part, *cache, LogitRows::last));
      bar.update(static_cast<uint64_t>(chunk + 1), static_cast<uint64_t>(chunks));
    }
  }
  const ImportanceMatrix matrix{.entries = collector.entries(),
                                .datasets = {options.file},
                                .chunks = static_cast<uint32_t>(chunks),
                                .chunk_tokens = static_cast<uint32_t>(options.context)};
  matrix.write(options.out);
  console.note(fmt::format("wrote {}: the importance of {} from {} of {} tokens", options.out,
                           format_counted(std::ssize(matrix.entries), "weight"), format_counted(chunks, "chunk"), options.context));
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace

void imatrix_command(Console& console, const Arguments& arguments) {
  ImatrixOptions options;
  Flags flags(
      "Runs a text through a model and writes the mean squares of each weight's inputs: an importance matrix for `wick quantize "
      "--imatrix`. An output file whose name ends in .dat gets llama.cpp's older format, all others GGUF.",
      console);
  add_model(flags, options.model);
  flags.add_value("-f,--file", "FILE", "the text", [&](const std::string& value) { options.file = value; }).required();
  flags.add_value("-o,--out,--output", "FILE", "the file to write", [&](const std::string& value) { options.out = value; }).required();
  add_context(flags, options.context, "tokens per chunk (512)", 2);
  flags.add_integer("--chunks", "use only the first K chunks (all)", options.chunks, 1).value_name("K");
  add_device(flags, options.device);
  add_threads(flags, options.threads);
  add_verbosity(flags, console);
  flags.examples({"wick imatrix --model model-f16.gguf --file text.txt --out model.imatrix.gguf --chunks 100"});
  if (!flags.parse(arguments)) return;
  collect(console, options);
}

}  // namespace wick
