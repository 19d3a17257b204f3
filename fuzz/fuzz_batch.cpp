// Reads any bytes as an uploaded form and as the lines of a batch; only ApiError and wick::Error may come of it. The parts of a form lie in
// its body, and a request without a problem can be found and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "command_run.h"
#include "outcome.h"
#include "wick/base/error.h"
#include "wick/server/api_error.h"
#include "wick/server/batch/batch_input.h"
#include "wick/server/batch/multipart.h"

namespace {

bool reads_form(std::string_view body) {
  try {
    for (const wick::server::FormPart& part : wick::server::parse_form("multipart/form-data; boundary=\"XyZ\"", body)) {
      if (part.content.empty()) continue;
      if (part.content.data() < body.data() || part.content.data() + part.content.size() > body.data() + body.size()) std::abort();
    }
    return true;
  } catch (const wick::server::ApiError&) {
    return false;
  }
}

bool reads_batch(std::string_view text) {
  const std::filesystem::path path = wick::fuzz::folder() / "input.jsonl";  // it is mapped
  wick::fuzz::write(path, text.data(), text.size());
  try {
    const wick::server::BatchInput input(path);
    if (!input.problems().empty()) return false;
    for (size_t index = 0; index < input.size(); ++index) {
      if (input.find(input.custom_id(index)) != index || !input.body(index).is_object()) std::abort();
    }
    if (input.in_order_of_prompts().size() != input.size()) std::abort();
    return input.size() > 0;
  } catch (const wick::Error&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool is_form = reads_form(text);
  const bool is_batch = reads_batch(text);
  ++(is_form || is_batch ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
