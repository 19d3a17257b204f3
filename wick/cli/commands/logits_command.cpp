#include <algorithm>
#include <optional>

#include "wick/base/fail.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/output_file.h"
#include "wick/cli/progress_bar.h"
#include "wick/cli/text_input.h"
#include "wick/engine/generator.h"
#include "wick/formats/npy.h"

namespace wick {
namespace {

void write_logits(const Console& console, const LanguageModel& model, std::span<const TokenId> tokens, const std::string& path) {
  const auto count = static_cast<int64_t>(tokens.size());
  if (count > model.info().context_length) {
    fail(ErrorCode::context_full, "the text has {} tokens and the context of {} holds {}; shorten it", count, model.info().name,
         model.info().longest());
  }
  const std::unique_ptr<CachedSequence> cache = model.new_sequence(count);
  NpyWriter writer(path, DType::f32, {count, model.info().vocab_size});
  ProgressBar bar(console, "logits");
  for (int64_t done = 0; done < count; done += kLogitsAtOnce) {
    const auto part = tokens.subspan(static_cast<size_t>(done), static_cast<size_t>(std::min(kLogitsAtOnce, count - done)));
    writer.append(model.forward(part, *cache, LogitRows::all).to_bytes());
    bar.update(static_cast<uint64_t>(done), static_cast<uint64_t>(count));
  }
  writer.finish();
}

}  // namespace

void logits_command(Console& console, const Arguments& arguments) {
  std::string model_name;
  DeviceChoice device;
  std::optional<std::string> text;
  std::optional<std::string> token_list;
  std::string out;
  int threads = 0;
  Precision precision;
  Flags flags("Writes a model's logits after each token of a text: f32 [tokens, vocabulary] in a .npy file.", console);
  add_model(flags, model_name);
  const Flags::Added text_flag = flags.add_value("-p,--prompt,--text", "TEXT", "the text; BOS is added if the model's file calls for it",
                                                 [&](const std::string& value) { text = value; });
  flags
      .add_value("--tokens", "IDS", "token ids like 0,5,9 instead, exactly as they are",
                 [&](const std::string& value) { token_list = value; })
      .excludes(text_flag);
  flags.add_value("-o,--out,--output", "FILE", "the file to write", [&](const std::string& value) { out = value; }).required();
  add_precision(flags, precision);
  add_device(flags, device);
  add_threads(flags, threads);
  add_verbosity(flags, console);
  flags.examples({"wick logits --model FILE.gguf --prompt \"Once upon a time\" --out logits.npy",
                  "wick logits --model FILE.gguf --tokens 0,5,9 --out logits.npy --precise"});
  if (!flags.parse(arguments)) return;
  if (!text && !token_list) fail(ErrorCode::invalid_argument, "nothing to compute: give --prompt or --tokens");
  if (text) check_prompt(*text);
  check_writable(out);

  const auto path = resolve_model(console, model_name);
  // Ids need no vocabulary, and a file may have none.
  const LoadedModel loaded = load_model(console, path, open_model_device(console, device, threads), precision,
                                        token_list ? WithTokenizer::no : WithTokenizer::yes);
  refuse_to_overwrite(loaded.file, out);
  const std::vector<TokenId> tokens = token_list ? parse_tokens(*token_list, "--tokens") : loaded.tokenizer->encode(*text);
  if (tokens.empty()) fail(ErrorCode::invalid_argument, "{}: no tokens; at least one is needed", token_list ? "--tokens" : "--prompt");
  write_logits(console, *loaded.model, tokens, out);
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
