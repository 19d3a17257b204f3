
#include <cmath>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/commands/text_list.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/output_file.h"
#include "wick/engine/prompt.h"
#include "wick/engine/text_vectors.h"
#include "wick/formats/npy.h"

namespace wick {
namespace {

// To length 1.
void scale_to_one(std::vector<float>& vector) {
  double squares = 0;
  for (const float value : vector) squares += double{value} * double{value};
  if (squares <= 0) return;
  for (float& value : vector) value = static_cast<float>(value / std::sqrt(squares));
}

}  // namespace

void embed_command(Console& console, const Arguments& arguments) {
  std::string model_name;
  TextList texts;
  Truncation truncation = Truncation::none;
  std::string out;
  DeviceChoice device;
  int threads = 0;
  Precision precision;
  bool plain = false;
  std::optional<Pooling> pooling;
  std::optional<std::string> prompt_name;
  int64_t dimensions = 0;
  Flags flags(
      "Turns texts into vectors: a model's last hidden states, of a text's tokens as one vector as the model's file says, or their mean, "
      "scaled to length 1. One JSON object a text goes to standard output, or all vectors to a .npy file.",
      console);
  add_model(flags, model_name);
  add_text_list(flags, texts);
  flags.add_text("-o,--out,--output", "FILE", "write f32 [texts, hidden size] to this .npy file instead", out);
  add_pooling(flags, pooling);
  flags.add_switch("--no-normalize", "do not scale the vectors to length 1", plain);
  flags.add_integer("--dimensions", "keep so many first numbers of each vector, of a model that was trained for it (Matryoshka)",
                    dimensions, 1);
  flags.add_value("--prompt-name", "NAME", "put the model's prompt of this name before each text, such as query (the model's default)",
                  [&](const std::string& name) { prompt_name = name; });
  add_truncation(flags, truncation);
  add_precision(flags, precision);
  add_device(flags, device);
  add_threads(flags, threads);
  add_verbosity(flags, console);
  flags.examples({"wick embed --text \"a cat\" --text \"a dog\"", "wick embed --model FOLDER --prompt-name query --text \"a pet\"",
                  "wick embed --model FILE.gguf --file lines.txt --out vectors.npy"});
  if (!flags.parse(arguments)) return;
  const std::vector<std::string> all = read_text_list(console, texts);
  if (!out.empty()) check_writable(out, {texts.file});

  const auto path = resolve_model(console, model_name);
  const LoadedModel loaded = load_model(console, path, open_model_device(console, device, threads), precision);
  if (!out.empty()) refuse_to_overwrite(loaded.file, out);
  const ModelInfo& info = loaded.model->info();
  if (pooling.value_or(info.pooling) == Pooling::rank) {
    fail(ErrorCode::invalid_argument, "{} scores pairs of texts and gives no vectors; choose --pooling {} for vectors of it", info.name,
         pooling_words());
  }
  if (dimensions > info.vector_width) {
    fail(ErrorCode::invalid_argument, "--dimensions {}: the vectors of {} have {} numbers", dimensions, info.name, info.vector_width);
  }
  const std::string prompt(info.prompts.find(prompt_name));
  std::vector<TextPair> encoded;
  for (const std::string& text : all) {
    std::vector<TokenId> tokens = encode_embedded(*loaded.tokenizer, info.name, prompt + text);
    encoded.push_back({truncated(*loaded.tokenizer, std::move(tokens), info.context_length, truncation)});
  }
  const int64_t width = dimensions > 0 ? dimensions : info.vector_width;
  std::optional<NpyWriter> writer;
  if (!out.empty()) writer.emplace(out, DType::f32, Shape{static_cast<int64_t>(all.size()), width});
  std::vector<std::vector<float>> vectors = text_vectors(*loaded.model, encoded, pooling);
  for (size_t index = 0; index < all.size(); ++index) {
    std::vector<float>& vector = vectors[index];
    vector.resize(static_cast<size_t>(width));
    if (!plain) scale_to_one(vector);
    if (writer) {
      writer->append(std::as_bytes(std::span(vector)));
      continue;
    }
    const size_t tokens = encoded[index].tokens.size();
    console.out << json_text(nlohmann::ordered_json{{"index", index}, {"text", all[index]}, {"tokens", tokens}, {"embedding", vector}})
                << '\n';
  }
  if (writer) writer->finish();
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
