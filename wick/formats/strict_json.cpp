#include "wick/formats/strict_json.h"

#include <algorithm>
#include <string_view>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/formats/strict_json_builder.h"

namespace wick {
namespace {

class FileJsonBuilder final : public StrictJsonBuilder<nlohmann::json> {
 public:
  FileJsonBuilder(std::string_view text, int max_depth, const JsonSource& source)
      : StrictJsonBuilder(max_depth), text_(text), max_depth_(max_depth), source_(source) {}

 private:
  void refuse_repeated_key(const std::string& name) const override {
    fail(ErrorCode::corrupt_file, "{}: {} at byte {}: {} stands there twice; {}", source_.file, source_.part, source_.first_byte,
         printable(name), source_.remedy);
  }
  void refuse_depth() const override {
    fail(ErrorCode::corrupt_file, "{}: {} at byte {}: nested more than {} deep; {}", source_.file, source_.part, source_.first_byte,
         max_depth_, source_.remedy);
  }
  void refuse_number(size_t position) const override {
    fail(ErrorCode::corrupt_file, "{}: {} at byte {}: a number is beyond the range of double; {}", source_.file, source_.part,
         source_.first_byte + position, source_.remedy);
  }
  void refuse_text(size_t position) const override {
    fail(ErrorCode::corrupt_file, "{}: {} at byte {}: not valid JSON{}; {}", source_.file, source_.part, source_.first_byte + position,
         text_.empty() ? "" : " near " + printable(text_near(position)), source_.remedy);
  }

  // What a reader would look for: the key in front of the place, on its line.
  [[nodiscard]] std::string_view text_near(size_t position) const {
    constexpr size_t kBefore = 40, kBehind = 8;
    const size_t place = std::min(position, text_.size());
    size_t first = place > kBefore ? place - kBefore : 0;
    if (const size_t line = text_.substr(first, place - first).rfind('\n'); line != std::string_view::npos) first += line + 1;
    const std::string_view rest = text_.substr(first, place - first + kBehind);
    const std::string_view near = rest.substr(0, rest.find('\n', place - first));
    const size_t begin = near.find_first_not_of(' ');
    return begin == std::string_view::npos ? near : near.substr(begin);
  }

  std::string_view text_;
  int max_depth_;
  const JsonSource& source_;
};

}  // namespace

nlohmann::json parse_strict_json(std::span<const std::byte> text, int max_depth, const JsonSource& source) {
  const std::string_view characters(reinterpret_cast<const char*>(text.data()), text.size());
  FileJsonBuilder builder(characters, max_depth, source);
  parse_json_events(characters, builder);
  return builder.take();
}

}  // namespace wick
