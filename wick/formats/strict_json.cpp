#include "wick/formats/strict_json.h"

#include <unordered_set>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/hash.h"
#include "wick/formats/printable.h"

namespace wick {

using Json = nlohmann::json;

Json parse_strict_json(std::span<const std::byte> text, int max_depth, const JsonSource& source) {
  // The keys of each object that is open, outermost first. An object's keys come at one more than its own depth.
  std::vector<std::unordered_set<std::string, KeyedHash>> open_objects;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > max_depth) {
      fail(ErrorCode::corrupt_file, "{}: {} at byte {}: nested more than {} deep; {}", source.file, source.part, source.first_byte,
           max_depth, source.remedy);
    }
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second) {
      fail(ErrorCode::corrupt_file, "{}: {} at byte {}: {} stands there twice; {}", source.file, source.part, source.first_byte,
           printable(parsed.get<std::string>()), source.remedy);
    }
    return true;
  };
  const char* begin = reinterpret_cast<const char*>(text.data());
  try {
    return Json::parse(begin, begin + text.size(), watch);
  } catch (const Json::parse_error& error) {
    fail(ErrorCode::corrupt_file, "{}: {} at byte {}: not valid JSON; {}", source.file, source.part, source.first_byte + error.byte,
         source.remedy);
  } catch (const Json::out_of_range&) {
    fail(ErrorCode::corrupt_file, "{}: {} at byte {}: a number is beyond the range of double; {}", source.file, source.part,
         source.first_byte, source.remedy);
  }
}

}  // namespace wick
