// A Pattern is an extended regular expression of POSIX, compiled once: what tests search names and sources with.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <regex.h>

namespace wick {

class Pattern {
 public:
  // Throws std::invalid_argument with the library's words for a malformed one.
  explicit Pattern(const std::string& text) : code_(new regex_t{}, release) {
    const int status = ::regcomp(code_.get(), text.c_str(), REG_EXTENDED | REG_NEWLINE);
    if (status == 0) return;
    std::string reason(::regerror(status, code_.get(), nullptr, 0), '\0');
    ::regerror(status, code_.get(), reason.data(), reason.size());
    reason.pop_back();
    throw std::invalid_argument("the regular expression '" + text + "': " + reason);
  }

  [[nodiscard]] bool found_in(const std::string& text) const { return ::regexec(code_.get(), text.c_str(), 0, nullptr, 0) == 0; }

  // What group number `group` holds of each match, from left to right.
  [[nodiscard]] std::vector<std::string> all(const std::string& text, size_t group) const {
    std::vector<std::string> found;
    std::vector<regmatch_t> spans(group + 1);
    for (const char* at = text.c_str(); ::regexec(code_.get(), at, spans.size(), spans.data(), 0) == 0 && spans[0].rm_eo > 0;) {
      found.emplace_back(at + spans[group].rm_so, at + spans[group].rm_eo);
      at += spans[0].rm_eo;
    }
    return found;
  }

 private:
  static void release(regex_t* code) {
    ::regfree(code);
    delete code;
  }

  std::shared_ptr<regex_t> code_;
};

}  // namespace wick
