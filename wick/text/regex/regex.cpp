#include "wick/text/regex/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "wick/base/fail.h"
#include "wick/text/regex/oniguruma_pattern.h"
#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

constexpr size_t kLongestPattern = size_t{1} << 16;

// Passes where \y, or \Y, holds.
int at_cluster_boundary(pcre2_callout_block* block, void* boundaries) {
  const std::string_view text(reinterpret_cast<const char*>(block->subject), block->subject_length);
  const bool boundary = static_cast<GraphemeBoundaries*>(boundaries)->at(text, block->current_position);
  return boundary == (block->callout_number == kClusterBoundaryCallout) ? 0 : 1;
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
  std::string_view text;  // that is being searched
  GraphemeBoundaries boundaries;

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
  // One pair: only the whole match is needed.
  handles_->data = require(pcre2_match_data_create(1, nullptr));
  handles_->context = require(pcre2_match_context_create(nullptr));
  pcre2_set_heap_limit(handles_->context, 64 * 1024);
  pcre2_set_callout(handles_->context, at_cluster_boundary, &handles_->boundaries);
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
  const std::string text = translate_oniguruma(pattern, place);
  int error = 0;
  PCRE2_SIZE offset = 0;
  // Oniguruma's ^ and $ match at every line.
  constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_DUPNAMES;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), kOptions, &error, &offset, nullptr);
  if (code_->code == nullptr) {
    fail(ErrorCode::corrupt_file, "{}: pattern '{}': {} (near offset {})", place, pattern, pcre2_message(error), offset);
  }
  code_->compiled_to_machine_code = pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE) == 0;
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

bool Regex::find(std::string_view text, size_t offset, RegexScratch& scratch, TextSpan& match) const {
  RegexScratch::Handles& handles = *scratch.handles_;
  if (offset == 0 || text.data() != handles.text.data() || text.size() != handles.text.size()) handles.boundaries = {};
  handles.text = text;
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
  WICK_ASSERT(match.end <= text.size());
  // \K can put the beginning after the end or before the search began: such a match is ignored.
  return match.begin <= match.end && match.begin >= offset;
}

bool Regex::matches(std::string_view name, RegexScratch& scratch) const {
  TextSpan match;
  return is_valid_utf8(name) ? find(name, 0, scratch, match)
                             : find(replace_invalid(name, InvalidBytes::one_per_subpart), 0, scratch, match);
}

size_t Regex::next_character(std::string_view text, size_t offset) noexcept {
  return offset < text.size() ? offset + decode_character(text, offset).length : offset + 1;
}

std::string Regex::replace(std::string_view text, std::string_view content, RegexScratch& scratch) const {
  std::string result;
  size_t done = 0;
  for_each_match(text, scratch, [&](TextSpan match) {
    result.append(text.substr(done, match.begin - done)).append(content);
    if (result.size() > largest_rewriting(text.size())) {
      fail(ErrorCode::unsupported, "{}: it makes more than {} bytes of a text of {}", place_, result.size(), text.size());
    }
    done = match.end;
  });
  return result.append(text.substr(done));
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
