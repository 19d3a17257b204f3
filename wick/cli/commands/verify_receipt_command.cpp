#include <fmt/format.h>

#include <ostream>

#include "wick/base/json.h"
#include "wick/cli/build_info.h"
#include "wick/cli/commands/receipt.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"

namespace wick {

void verify_receipt_command(Console& console, const Arguments& arguments) {
  std::string receipt_file;
  std::string model;
  bool json = false;
  Flags flags(
      "Checks a receipt of wick run --receipt: that it was not changed, that kernels ran on the device it names, and that the model file "
      "has "
      "the SHA-256 it names.",
      console);
  flags.add_argument("FILE", "the receipt", receipt_file).required().path();
  add_model(flags, model, "the model file, if it is not where the receipt says");
  add_json(flags, json);
  add_verbosity(flags, console);
  flags.examples({"wick run --prompt \"Once\" --receipt receipt.json", "wick verify-receipt receipt.json",
                  "wick verify-receipt receipt.json --model FILE.gguf"});
  if (!flags.parse(arguments)) return;
  const nlohmann::ordered_json receipt = verify_receipt(receipt_file, model);
  const std::string commit = receipt["build"]["commit"];
  if (commit != build_info().commit) {
    console.warn(fmt::format("{}: written by a build of commit {}; this program is of {}", receipt_file, commit, build_info().commit));
  }
  if (json) {
    const nlohmann::ordered_json result = {{"valid", true},
                                           {"receipt", receipt_file},
                                           {"commit", commit},
                                           {"device", receipt["device"]["selected"]},
                                           {"kernels_launched", receipt["kernels_launched"]},
                                           {"tokens", receipt["result"]["tokens"].size()}};
    console.out << json_text(result) << '\n';
    return;
  }
  console.out << fmt::format("{}: valid: {} tokens by {} kernel launches on {}, written {} by commit {}\n", receipt_file,
                             receipt["result"]["tokens"].size(), receipt["kernels_launched"].get<uint64_t>(),
                             receipt["device"]["selected"].get<std::string>(), receipt["created"].get<std::string>(), commit);
}

}  // namespace wick
