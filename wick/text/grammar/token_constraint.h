// A TokenConstraint says which tokens may come next in one sequence, so that its text fits a JSON Schema, a pattern, a grammar or a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/vocabulary.h"

namespace [[gnu::visibility("default")]] wick {

class FormatCache;
class Tokenizer;

// The required format of a text, from its first byte to its last.
struct OutputFormat {
  enum class Kind {
    json,         // any JSON object
    json_schema,  // `text` is a JSON Schema (2020-12)
    regex,        // `text` is a pattern that the whole text matches
    grammar,      // `text` is a GBNF grammar with a rule named root
    choices,      // one of `choices`
    literal,      // `text` itself
    sequence,     // `parts`, one after another: a tool call is a literal, a schema and a literal
    any_of,       // one of `parts`
    repeated,     // parts[0] once or more, with parts[1], if there is one, between
    marked,       // `text`, in which what is spelled <…> or […] is the token of that name where the vocabulary has one
    free_text,    // any text, maybe none, that holds none of `choices`, and in which no line begins with one of `parts`: sequences, which
                  // count only in the beginning of the text where their own text is "start", and not at all where they begin with a token
                  // of the vocabulary. With `text`, and unless parts[0] begins with a token: white space alone, or what ends with `text`
    members,      // `parts` but the last, each once at most, in any order; those whose entry in `choices` is not empty must be there. The
                  // last part is between two
    bare_string,  // a string that `text`, a JSON Schema, allows, without quotes and escapes, that holds none of `choices`
  };
  Kind kind = Kind::json;
  std::string text = {};
  std::vector<std::string> choices = {};
  std::vector<OutputFormat> parts = {};
  // JSON and JSON Schema. Properties are written in the order of the schema, as OpenAI's strict mode does, and integers without a
  // fraction; with this, in any order, and 1.0 is an integer too.
  bool any_spelling = false;
  // JSON and JSON Schema. Properties in any order, each once; else as without any_spelling.
  bool any_order = false;
  // JSON and JSON Schema. Whether spaces and line breaks may stand between the tokens of JSON.
  bool whitespace = true;
  // JSON Schema. Whether "format" is a condition; otherwise it says nothing about the text, as the standard has it.
  bool enforce_formats = true;

  [[nodiscard]] bool operator==(const OutputFormat&) const = default;
};

// The words of a mask: token i is bit i % 64 of word i / 64.
[[nodiscard]] constexpr size_t mask_words(int32_t vocab_size) noexcept { return (static_cast<size_t>(vocab_size) + 63) / 64; }

// The state of one sequence. One thread at a time; different constraints of one compiler may be used side by side.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;

  // The tokenizer's, and so the tokens that a mask covers. A model may have more logits than that: none of those is allowed.
  [[nodiscard]] virtual int32_t vocab_size() const noexcept = 0;
  // Writes mask_words(vocab_size()) words: a bit is set where the token may come next. Tokens that end a generation are allowed where
  // the text may end; other control tokens only where a grammar names them. At least one bit is set.
  // Errors: invalid_argument, naming a rule, if the format is so ambiguous that this takes too much work or memory.
  virtual void fill_mask(std::span<uint64_t> mask) = 0;
  // Appends a token. After one that ends a generation only such tokens are allowed.
  // Errors: invalid_argument for a token that is not allowed here, and fill_mask's; the state stays as it was.
  virtual void accept(TokenId token) = 0;
  // Whether the text may end here.
  [[nodiscard]] virtual bool can_end() const = 0;
  // Whether it must: no token but one that ends a generation is allowed.
  [[nodiscard]] virtual bool must_end() = 0;
  // An independent sequence in the same state.
  [[nodiscard]] virtual std::unique_ptr<TokenConstraint> clone() const = 0;
  // Back to the beginning of the text.
  virtual void reset() = 0;
};

// Compiles formats for one vocabulary, and keeps what it has compiled and the masks of these formats, up to a budget: what was used longest
// ago goes first. Any number of threads may use it.
class ConstraintCompiler {
 public:
  explicit ConstraintCompiler(std::shared_ptr<const Tokenizer> tokenizer);
  ~ConstraintCompiler();
  ConstraintCompiler(const ConstraintCompiler&) = delete;
  ConstraintCompiler& operator=(const ConstraintCompiler&) = delete;

  // A constraint at the beginning of its text. Equal formats are compiled once.
  // Errors: invalid_argument for a format that is malformed, that no text fits, or that no text of this vocabulary fits; unsupported for
  // a part that cannot be enforced, named by its JSON pointer or its place in the pattern or grammar.
  [[nodiscard]] std::unique_ptr<TokenConstraint> compile(const OutputFormat& format);

  // The budget, and what is kept now, of formats in use too; in addition the vocabulary's own tables, once.
  static constexpr size_t kMaxCachedBytes = size_t{128} << 20;
  [[nodiscard]] size_t cached_bytes() const;

 private:
  std::shared_ptr<FormatCache> formats_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace wick
