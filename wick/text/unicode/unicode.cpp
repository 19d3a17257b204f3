#include "wick/text/unicode/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "wick/base/fail.h"

namespace wick {
namespace {

utf8proc_category_t category(char32_t code) noexcept { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

uint16_t combining_class(utf8proc_int32_t code) noexcept { return utf8proc_get_property(code)->combining_class; }

// These are decomposed by arithmetic, not by a table.
bool is_hangul_syllable(char32_t code) noexcept { return code >= 0xAC00 && code <= 0xD7A3; }

// The characters' full decompositions, each run of marks in the order of their combining classes. utf8proc_decompose does the same, but
// orders marks in a time that grows with the square of their number.
std::vector<utf8proc_int32_t> decompose(std::string_view text, utf8proc_option_t options) {
  std::vector<utf8proc_int32_t> codes;
  codes.reserve(text.size());
  size_t marks = 0;  // where the run of marks at the end begins
  uint16_t last_class = 0;
  bool in_order = true;
  const auto end_run = [&] {
    const auto before = [](utf8proc_int32_t left, utf8proc_int32_t right) { return combining_class(left) < combining_class(right); };
    if (!in_order) std::stable_sort(codes.begin() + static_cast<std::ptrdiff_t>(marks), codes.end(), before);
    last_class = 0;
    in_order = true;
  };
  const auto append = [&](utf8proc_int32_t code, uint16_t combining) {
    if (combining == 0) {
      end_run();
      marks = codes.size() + 1;
    }
    in_order = in_order && combining >= last_class;
    last_class = combining;
    codes.push_back(code);
  };
  int boundclass = 0;
  for (size_t offset = 0; offset < text.size();) {
    const DecodedCharacter character = decode_character(text, offset);
    offset += character.length;
    const auto code = static_cast<utf8proc_int32_t>(character.code);
    const utf8proc_property_t& property = *utf8proc_get_property(code);
    if (property.decomp_seqindex == UINT16_MAX && !is_hangul_syllable(character.code)) {
      append(code, property.combining_class);
      continue;
    }
    std::array<utf8proc_int32_t, 32> parts{};  // the longest decomposition has 18
    const utf8proc_ssize_t count = utf8proc_decompose_char(code, parts.data(), parts.size(), options, &boundclass);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
      fail(ErrorCode::invalid_argument, "normalize: {}", utf8proc_errmsg(count));
    }
    for (utf8proc_ssize_t part = 0; part < count; ++part) {
      append(parts[static_cast<size_t>(part)], combining_class(parts[static_cast<size_t>(part)]));
    }
  }
  end_run();
  return codes;
}

}  // namespace

std::string replace_invalid(std::string_view text, InvalidBytes policy) {
  std::string result;
  result.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    const DecodedCharacter character = decode_character(text, offset);
    if (character.valid) {
      result.append(text.substr(offset, character.length));
    } else {
      const uint32_t count = policy == InvalidBytes::one_per_byte ? character.length : 1;
      for (uint32_t index = 0; index < count; ++index) append_character(result, kReplacementCharacter);
    }
    offset += character.length;
  }
  return result;
}

bool is_whitespace(char32_t code) noexcept {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_number(char32_t code) noexcept {
  if (code < 0x80) return code >= '0' && code <= '9';
  const utf8proc_category_t kind = category(code);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool is_decimal_digit(char32_t code) noexcept { return code < 0x80 ? code >= '0' && code <= '9' : category(code) == UTF8PROC_CATEGORY_ND; }

bool is_punctuation(char32_t code) noexcept {
  if (code < 0x80) {
    return (code >= '!' && code <= '/') || (code >= ':' && code <= '@') || (code >= '[' && code <= '`') || (code >= '{' && code <= '~');
  }
  const utf8proc_category_t kind = category(code);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

bool is_mark(char32_t code) noexcept {
  if (code < 0x300) return false;
  const utf8proc_category_t kind = category(code);
  return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(char32_t code) noexcept { return code >= 0x300 && category(code) == UTF8PROC_CATEGORY_MN; }

bool is_control(char32_t code) noexcept {
  if (code < 0x80) return code < 0x20 || code == 0x7F;
  const utf8proc_category_t kind = category(code);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_CO;
}

bool is_word(char32_t code) noexcept {
  if (code < 0x80) return code == '_' || (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
  if (code == 0x200C || code == 0x200D) return true;
  if ((code >= 0x24B6 && code <= 0x24E9) || (code >= 0x1F130 && code <= 0x1F149) || (code >= 0x1F150 && code <= 0x1F169) ||
      (code >= 0x1F170 && code <= 0x1F189)) {
    return true;  // circled and squared letters: symbols that are Alphabetic
  }
  const utf8proc_category_t kind = category(code);
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NL) || kind == UTF8PROC_CATEGORY_PC;
}

bool is_cjk_ideograph(char32_t code) noexcept {
  // 0x2B920 is what Hugging Face's BERT splits by; the block begins at 0x2B820.
  return (code >= 0x4E00 && code <= 0x9FFF) || (code >= 0x3400 && code <= 0x4DBF) || (code >= 0x20000 && code <= 0x2A6DF) ||
         (code >= 0x2A700 && code <= 0x2B73F) || (code >= 0x2B740 && code <= 0x2B81F) || (code >= 0x2B920 && code <= 0x2CEAF) ||
         (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x2F800 && code <= 0x2FA1F);
}

std::string normalize(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  unsigned bits = UTF8PROC_STABLE;
  switch (form) {
    case NormalForm::nfc: bits |= UTF8PROC_COMPOSE; break;
    case NormalForm::nfd: bits |= UTF8PROC_DECOMPOSE; break;
    case NormalForm::nfkc: bits |= UTF8PROC_COMPOSE | UTF8PROC_COMPAT; break;
    case NormalForm::nfkd: bits |= UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT; break;
  }
  const auto options = static_cast<utf8proc_option_t>(bits);  // NOLINT(clang-analyzer-optin.core.EnumCastOutOfRange): they are bits
  std::vector<utf8proc_int32_t> codes = decompose(text, options);
  const utf8proc_ssize_t length = utf8proc_normalize_utf32(codes.data(), static_cast<utf8proc_ssize_t>(codes.size()), options);
  if (length < 0) fail(ErrorCode::invalid_argument, "normalize: {}", utf8proc_errmsg(length));
  std::string result;
  result.reserve(text.size());
  for (utf8proc_ssize_t index = 0; index < length; ++index)
    append_character(result, static_cast<char32_t>(codes[static_cast<size_t>(index)]));
  return result;
}

std::string lowercase(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    const DecodedCharacter character = decode_character(text, offset);
    if (character.code == 0x130) {
      result += "i\xCC\x87";  // the one letter whose lower case is two characters
    } else {
      append_character(result, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character.code))));
    }
    offset += character.length;
  }
  return result;
}

std::vector<std::string_view> code_points(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = decode_character(text, at).length;
    result.push_back(text.substr(at, length));
    at += length;
  }
  return result;
}

size_t grapheme_length(std::string_view text, size_t offset) noexcept {
  utf8proc_int32_t state = 0;
  DecodedCharacter previous = decode_character(text, offset);
  size_t length = previous.length;
  while (offset + length < text.size()) {
    const DecodedCharacter next = decode_character(text, offset + length);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous.code), static_cast<utf8proc_int32_t>(next.code), &state)) {
      break;
    }
    length += next.length;
    previous = next;
  }
  return length;
}

bool GraphemeBoundaries::at(std::string_view text, size_t offset) noexcept {
  if (offset == 0 || offset >= text.size()) return true;
  if (offset > begin_ && offset < end_) return false;
  if (offset == begin_ || offset == end_) return true;
  size_t begin = previous_character(text, offset);
  const auto next = static_cast<utf8proc_int32_t>(decode_character(text, offset).code);
  const auto next_kind = utf8proc_get_property(next)->boundclass;
  if (next_kind != UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC && next_kind != UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR) {
    return utf8proc_grapheme_break(static_cast<utf8proc_int32_t>(decode_character(text, begin).code), next);
  }
  // Pictures may be joined, and regional indicators are pairs: what comes before decides.
  const size_t known = offset > end_ ? end_ : 0;
  begin = offset;
  while (begin > known) {
    begin = previous_character(text, begin);
    const auto code = static_cast<utf8proc_int32_t>(decode_character(text, begin).code);
    const auto kind = utf8proc_get_property(code)->boundclass;
    if (kind != UTF8PROC_BOUNDCLASS_EXTEND && kind != UTF8PROC_BOUNDCLASS_ZWJ && kind != UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR) break;
  }
  for (end_ = begin; end_ < offset; end_ += grapheme_length(text, begin_)) begin_ = end_;
  return end_ == offset;
}

}  // namespace wick
