
#include <cmath>
#include <ostream>
#include <span>
#include <string>
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
#include "wick/formats/npy.h"

namespace wick {
namespace {

// One vector of the hidden states of the text's tokens: what the head of the model is multiplied by.
std::vector<float> embed(const LanguageModel& model, const std::vector<TokenId>& tokens, const std::optional<Pooling>& pooling,
                         bool normalize) {
  const auto count = static_cast<int64_t>(tokens.size());
  const int64_t context = model.info().context_length;
  if (count > context)
    fail(ErrorCode::context_full, "the text has {} tokens and the context of {} holds {}; shorten it", count, model.info().name, context);
  const std::unique_ptr<KvPool> pool = model.new_pool(count);
  Batch batch;
  batch.add({}, 0, tokens, Batch::Results::none);
  std::vector<float> result =
      model.forward(batch, *pool, {.result = ModelResult::pooled, .pooling = pooling, .stop = {}}).to_vector<float>();
  double squares = 0;
  for (const float value : result) squares += double{value} * double{value};
  if (normalize && squares > 0) {
    for (float& value : result) value = static_cast<float>(value / std::sqrt(squares));
  }
  return result;
}

}  // namespace

void embed_command(Console& console, const Arguments& arguments) {
  std::string model_name;
  TextList texts;
  std::string out;
  DeviceChoice device;
  int threads = 0;
  Precision precision;
  bool plain = false;
  std::optional<Pooling> pooling;
  Flags flags(
      "Turns texts into vectors: a model's last hidden states, of a text's tokens as one vector as the model's file says, or their mean, "
      "scaled to length 1. One JSON object a text goes to standard output, or all vectors to a .npy file.",
      console);
  add_model(flags, model_name);
  add_text_list(flags, texts);
  flags.add_text("-o,--out,--output", "FILE", "write f32 [texts, hidden size] to this .npy file instead", out);
  add_pooling(flags, pooling);
  flags.add_switch("--no-normalize", "do not scale the vectors to length 1", plain);
  add_precision(flags, precision);
  add_device(flags, device);
  add_threads(flags, threads);
  add_verbosity(flags, console);
  flags.examples({"wick embed --text \"a cat\" --text \"a dog\"", "wick embed --model FILE.gguf --file lines.txt --out vectors.npy"});
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
  std::optional<NpyWriter> writer;
  if (!out.empty()) writer.emplace(out, DType::f32, Shape{static_cast<int64_t>(all.size()), info.width});
  for (size_t index = 0; index < all.size(); ++index) {
    const std::vector<TokenId> tokens = encode_embedded(*loaded.tokenizer, info.name, all[index]);
    const std::vector<float> vector = embed(*loaded.model, tokens, pooling, !plain);
    if (writer) {
      writer->append(std::as_bytes(std::span(vector)));
    } else {
      console.out << json_text(
                         nlohmann::ordered_json{{"index", index}, {"text", all[index]}, {"tokens", tokens.size()}, {"embedding", vector}})
                  << '\n';
    }
  }
  if (writer) writer->finish();
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
