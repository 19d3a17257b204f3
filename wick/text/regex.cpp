#include "wick/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

// Oniguruma's and Rust's classes where PCRE2's own differ: its \s has U+180E, its \w no marks.
constexpr std::string_view kSpaceClass =
    "\\t-\\r\\x20\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}";
constexpr std::string_view kWordClass =
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200C}\\x{200D}\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}";
constexpr std::string_view kHexClass = "0-9A-Fa-f";
constexpr size_t kLongestPattern = size_t{1} << 16;

// Rewrites the escape `letter` for PCRE2, inside or outside a class.
void append_escape(std::string& result, char letter, bool in_class) {
  std::string_view members;
  switch (letter) {
    case 's':
    case 'S': members = kSpaceClass; break;
    case 'w':
    case 'W': members = kWordClass; break;
    case 'h':
    case 'H': members = kHexClass; break;
    case 'd': result += "\\p{Nd}"; return;
    case 'D': result += "\\P{Nd}"; return;
    default: break;
  }
  const bool negated = letter == 'S' || letter == 'W' || letter == 'H';
  if (members.empty() || (in_class && negated)) {
    result += '\\';
    result += letter;
    return;
  }
  if (in_class) {
    result += members;
    return;
  }
  result += negated ? "[^" : "[";
  result += members;
  result += ']';
}

std::string translate(std::string_view pattern, std::string_view place) {
  std::string result;
  bool in_class = false;
  size_t class_begin = 0;
  for (size_t index = 0; index < pattern.size(); ++index) {
    const char letter = pattern[index];
    if (letter == '\\' && index + 1 < pattern.size()) {
      append_escape(result, pattern[++index], in_class);
      continue;
    }
    if (!in_class && letter == '[') {
      in_class = true;
      result += letter;
      if (index + 1 < pattern.size() && pattern[index + 1] == '^') result += pattern[++index];
      class_begin = index + 1;
      continue;
    }
    if (in_class && letter == ']' && index != class_begin) in_class = false;
    if (in_class && letter == '[') {
      const size_t close = pattern.substr(index).starts_with("[:") ? pattern.find(":]", index) : std::string_view::npos;
      if (close == std::string_view::npos) {
        fail(ErrorCode::unsupported, "{}: pattern '{}': a class inside a class (offset {}) is not supported", place, pattern, index);
      }
      result += pattern.substr(index, close + 2 - index);
      index = close + 1;
      continue;
    }
    if (in_class && letter == '&' && pattern.substr(index).starts_with("&&")) {
      fail(ErrorCode::unsupported, "{}: pattern '{}': a class intersection (&&, offset {}) is not supported", place, pattern, index);
    }
    result += letter;
  }
  return result;
}

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

template <class T>
T* require(T* handle) {
  if (handle == nullptr) throw std::bad_alloc();
  return handle;
}

}  // namespace

struct RegexScratch::Handles {
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;

  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

RegexScratch::RegexScratch() : handles_(std::make_unique<Handles>()) {
  // One pair: only the whole match is asked for.
  handles_->data = require(pcre2_match_data_create(1, nullptr));
  handles_->context = require(pcre2_match_context_create(nullptr));
  pcre2_set_heap_limit(handles_->context, 64 * 1024);
  handles_->stack = pcre2_jit_stack_create(32 * 1024, 8 * 1024 * 1024, nullptr);
  if (handles_->stack != nullptr) pcre2_jit_stack_assign(handles_->context, nullptr, handles_->stack);
}

RegexScratch::~RegexScratch() = default;

struct Regex::Code {
  pcre2_code* code = nullptr;
  bool compiled_to_machine_code = false;

  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(std::string_view pattern, std::string_view place) : code_(std::make_unique<Code>()), place_(place) {
  if (pattern.size() > kLongestPattern) {
    fail(ErrorCode::unsupported, "{}: a pattern of {} bytes; the longest supported is {}", place, pattern.size(), kLongestPattern);
  }
  const std::string text = translate(pattern, place);
  int error = 0;
  PCRE2_SIZE offset = 0;
  // Oniguruma's ^ and $ match at every line.
  constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), kOptions, &error, &offset, nullptr);
  if (code_->code == nullptr) {
    fail(ErrorCode::corrupt_file, "{}: pattern '{}': {} (near offset {})", place, pattern, pcre2_message(error), offset);
  }
  code_->compiled_to_machine_code = pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE) == 0;
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

bool Regex::find(std::string_view text, size_t offset, RegexScratch& scratch, Range& match) const {
  const RegexScratch::Handles& handles = *scratch.handles_;
  // Greedy runs over a long text may give back each character once.
  const size_t limit = 2'000'000 + 4 * text.size();
  pcre2_set_match_limit(handles.context, static_cast<uint32_t>(std::min<size_t>(limit, UINT32_MAX)));
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (code_->compiled_to_machine_code) {
    result = pcre2_jit_match(code_->code, subject, text.size(), offset, 0, handles.data, handles.context);
  }
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
    result = pcre2_match(code_->code, subject, text.size(), offset, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, handles.data, handles.context);
  }
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) {
    fail(ErrorCode::unsupported, "{}: a pattern gave up on a text of {} bytes at offset {}: {}", place_, text.size(), offset,
         pcre2_message(result));
  }
  const PCRE2_SIZE* pair = pcre2_get_ovector_pointer(handles.data);
  match = {pair[0], pair[1]};
  // \K can put the beginning behind the end or before the search began: no such match is taken.
  return match.begin <= match.end && match.begin >= offset;
}

std::string quote_literal(std::string_view literal) {
  std::string result;
  for (const char letter : literal) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain = byte >= 0x80 || (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
    if (!plain) result += byte < 0x20 ? "" : "\\";
    result += letter;
  }
  return result;
}

}  // namespace wick
