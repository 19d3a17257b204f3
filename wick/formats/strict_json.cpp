#include "wick/formats/strict_json.h"

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/formats/strict_json_builder.h"

namespace wick {
namespace {

class FileJsonBuilder final : public StrictJsonBuilder<nlohmann::json> {
 public:
  FileJsonBuilder(int max_depth, const JsonSource& source) : StrictJsonBuilder(max_depth), max_depth_(max_depth), source_(source) {}

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
    fail(ErrorCode::corrupt_file, "{}: {} at byte {}: not valid JSON; {}", source_.file, source_.part, source_.first_byte + position,
         source_.remedy);
  }

  int max_depth_;
  const JsonSource& source_;
};

}  // namespace

nlohmann::json parse_strict_json(std::span<const std::byte> text, int max_depth, const JsonSource& source) {
  const char* begin = reinterpret_cast<const char*>(text.data());
  FileJsonBuilder builder(max_depth, source);
  nlohmann::json::sax_parse(begin, begin + text.size(), &builder);
  return builder.take();
}

}  // namespace wick
