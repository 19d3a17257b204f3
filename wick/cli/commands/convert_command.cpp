#include <filesystem>
#include <string>
#include <system_error>

#include "wick/base/fail.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/output_file.h"
#include "wick/cli/text_format.h"
#include "wick/convert/adapter_to_gguf.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {

void convert_command(Console& console, const Arguments& arguments) {
  std::string folder;
  std::string out;
  std::string base;
  Flags flags("Writes a Hugging Face folder (config.json and safetensors) as one GGUF file, with llama.cpp's keys and tensor names.",
              console);
  flags.add_argument("FOLDER", "the folder, of a model or of an adapter that PEFT saved", folder).required().path();
  flags.add_argument("OUT", "the GGUF file to write", out).required().path();
  flags.add_text("--base", "MODEL", "the model of an adapter: a GGUF file or a folder", base).path();
  add_verbosity(flags, console);
  flags.notes(
      "Matrices keep their type; wick quantize makes them smaller. A folder runs without being converted: name it where a command\n"
      "takes a model.");
  flags.examples({"wick convert Qwen3-0.6B qwen3.gguf", "wick convert --base qwen3.gguf my-adapter my-adapter.gguf"});
  if (!flags.parse(arguments)) return;
  folder = resolve_hub(console, folder).string();

  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    fail(ErrorCode::invalid_argument, "{}: no folder; name one with config.json and safetensors", folder);
  }
  if (is_peft_folder(folder)) {
    if (base.empty()) fail(ErrorCode::invalid_argument, "{}: an adapter; name the model that it is for with --base", folder);
    const Checkpoint model = Checkpoint::open(base);
    refuse_to_overwrite(model, out);
    write_adapter_gguf(folder, model, out);
  } else {
    if (!base.empty()) fail(ErrorCode::invalid_argument, "--base: {} is no adapter (it has no adapter_config.json)", folder);
    const Checkpoint checkpoint = Checkpoint::open(folder);
    refuse_to_overwrite(checkpoint, out);
    write_gguf(checkpoint, out);
  }
  console.note(fmt::format("wrote {}, {}", out, format_bytes(GgufFile::open(out).file_bytes())));
}

}  // namespace wick
