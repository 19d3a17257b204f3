// Reading a file takes time in proportion to its size, whatever is in it: a file of 1 MB of each kind is read in under a second, and one
// ten times as large in at most fifteen times that time. The kinds are those with which somebody could keep a program busy: names that fall
// together in a hash table, deep nesting, many small entries.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "unit/temporary_folder.h"
#include "wick/base/platform/build_mode.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/formats/gguf_writer.h"

namespace wick {
namespace {

constexpr size_t kSmall = 1'000'000;
constexpr double kMaxSeconds = 1.0;
constexpr double kMaxGrowth = 15;
// Below this, growth says more about the machine's caches than about the program.
constexpr double kShortSeconds = 0.05;

// A kind of file: what it is called, how one of about so many bytes is written, and what reads it. The command's arguments begin with FILE
// in the place of the path. It may end with exit code 2: refusing is fast, too.
struct Kind {
  const char* name;
  const char* file;
  void (*write)(const std::filesystem::path& path, size_t bytes);
  std::vector<std::string> command;
};

// --- Names that fall together under the standard library's hash (MurmurHash64A with a fixed seed) ---

constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995u;

constexpr uint64_t inverse_of(uint64_t odd) {
  uint64_t inverse = odd;
  for (int i = 0; i < 6; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

uint64_t mixed(uint64_t block) {
  block *= kMultiplier;
  block ^= block >> 47;
  return block * kMultiplier;
}

uint64_t unmixed(uint64_t block) {
  block *= inverse_of(kMultiplier);
  block ^= block >> 47;
  return block * inverse_of(kMultiplier);
}

// 16 bytes: the second word takes back what the first one did, so that all of these have one hash.
std::string colliding_name(uint64_t index) {
  const uint64_t seed = 0xc70f6907u ^ (16 * kMultiplier);
  const uint64_t first = 0x2020202020202020u + index;
  const uint64_t after_first = (seed ^ mixed(first)) * kMultiplier;
  const uint64_t words[2] = {first, unmixed(after_first ^ 0x1234567890abcdefu)};
  return {reinterpret_cast<const char*>(words), sizeof(words)};
}

std::string plain_name(uint64_t index) { return "key." + std::to_string(1'000'000'000 + index); }

// --- GGUF ---

template <std::string (*Name)(uint64_t)>
void write_metadata_keys(const std::filesystem::path& path, size_t bytes) {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  for (uint64_t index = 0; index < bytes / 32; ++index) writer.add_uint(Name(index), 1);
  writer.write(path);
}

template <std::string (*Name)(uint64_t)>
void write_tensor_names(const std::filesystem::path& path, size_t bytes) {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  const float value = 1;
  for (uint64_t index = 0; index < bytes / 88; ++index) {
    writer.add_tensor(Name(index), DType::f32, {1}, std::as_bytes(std::span(&value, 1)));
  }
  writer.write(path);
}

void write_string_array(const std::filesystem::path& path, size_t bytes) {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_strings("tokenizer.ggml.tokens", std::vector<std::string>(bytes / 9, "x"));
  writer.write(path);
}

void write_long_key(const std::filesystem::path& path, size_t bytes) {
  GgufWriter writer;
  writer.add_string("general.name", std::string(bytes, '\x1b'));
  writer.write(path);
}

// --- safetensors ---

void write_safetensors(const std::filesystem::path& path, const std::string& header) {
  const uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof(length));
  file << header;
}

std::string in_json(const std::string& name) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : name) {
    const auto value = static_cast<uint8_t>(byte);
    if (value >= 0x20 && value < 0x7f && byte != '"' && byte != '\\') {
      text += byte;
    } else {
      text += {'\\', 'u', '0', '0', kDigits[value >> 4], kDigits[value & 15]};
    }
  }
  return text;
}

void write_safetensors_metadata(const std::filesystem::path& path, size_t bytes) {
  std::string header = R"({"__metadata__":{)";
  for (uint64_t index = 0; header.size() < bytes; ++index) {
    header += (index == 0 ? "\"" : ",\"") + in_json(plain_name(index)) + R"(":"x")";
  }
  write_safetensors(path, header + "}}");
}

template <const char* Dtype>
void write_safetensors_tensors(const std::filesystem::path& path, size_t bytes) {
  std::string header = "{";
  for (uint64_t index = 0; header.size() < bytes; ++index) {
    header += (index == 0 ? "\"" : ",\"") + plain_name(index) + R"(":{"dtype":")" + Dtype + R"(","shape":[0],"data_offsets":[0,0]})";
  }
  write_safetensors(path, header + "}");
}
constexpr char kF32[] = "F32";
constexpr char kF8[] = "F8_E5M2";

// --- pickles ---

// A legacy file of PyTorch is a chain of pickles; opcodes of the first are read whatever they mean.
void write_pickle(const std::filesystem::path& path, const std::string& opcodes) {
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x80\x02", 2) << opcodes << '.';
}

// LONG_BINPUT to numbers that fall together in a table whose buckets are remainders.
void write_memo(const std::filesystem::path& path, size_t bytes) {
  std::string opcodes = "K\x01";
  for (uint32_t index = 0; opcodes.size() < bytes; ++index) {
    const uint32_t number = index * 85'229;
    opcodes += 'r';
    opcodes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  write_pickle(path, opcodes);
}

void write_marks(const std::filesystem::path& path, size_t bytes) { write_pickle(path, std::string(bytes, '(')); }
void write_values(const std::filesystem::path& path, size_t bytes) { write_pickle(path, std::string(bytes, 'N')); }
void write_lists(const std::filesystem::path& path, size_t bytes) { write_pickle(path, std::string(bytes, ']')); }

// --- tokenizer.json ---

// `item(index)` again and again, with commas, until there are so many bytes.
template <class Item>
std::string list_of(size_t bytes, const Item& item) {
  std::string list;
  for (uint64_t index = 0; list.size() < bytes; ++index) list += (index == 0 ? "" : ",") + std::string(item(index));
  return list;
}

std::string repeated(const std::string& item, int count) {
  return list_of(item.size() * static_cast<size_t>(count), [&](uint64_t) { return item; });
}

void write_tokenizer(const std::filesystem::path& path, const std::string& fields, const std::string& vocabulary = R"("a":0)") {
  std::ofstream(path) << R"({"model":{"type":"BPE","vocab":{)" << vocabulary << R"(},"merges":[]},)" << fields << R"("decoder":null})";
}

template <std::string (*Name)(uint64_t)>
void write_pieces(const std::filesystem::path& path, size_t bytes) {
  write_tokenizer(path, "", list_of(bytes, [](uint64_t index) { return '"' + in_json(Name(index)) + "\":" + std::to_string(index); }));
}

std::string added_tokens(size_t bytes, const std::string& text) {
  return R"("added_tokens":[)" +
         list_of(bytes,
                 [&](uint64_t index) {
                   return R"({"id":)" + std::to_string(index) + R"(,"content":")" + text + std::to_string(index) +
                          R"(","normalized":true})";
                 }) +
         "],";
}

void write_added_tokens(const std::filesystem::path& path, size_t bytes) { write_tokenizer(path, added_tokens(bytes, "x")); }

void write_normalized_tokens(const std::filesystem::path& path, size_t bytes) {
  const std::string marks = "e\u0327\u0301";
  std::string text;
  while (text.size() < 2000) text += marks;
  write_tokenizer(
      path, R"("normalizer":{"type":"Sequence","normalizers":[)" + repeated(R"({"type":"NFKD"})", 250) + "]}," + added_tokens(bytes, text));
}

// A text that is all beginning of a long token; the tokenizer is beside it.
void write_text_of_long_token(const std::filesystem::path& path, size_t bytes) {
  const std::string token = std::string(4'000, 'a') + 'b';
  write_tokenizer(path.string() + ".json", R"("added_tokens":[{"id":1,"content":")" + token + "\"}],");
  std::ofstream(path) << std::string(bytes, 'a');
}

// A Unigram tokenizer of these pieces beside a text.
void write_pieces_and_text(const std::filesystem::path& path, const std::string& pieces, size_t text_bytes) {
  std::ofstream(path.string() + ".json") << R"({"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1],)" << pieces << "]}}";
  std::ofstream(path) << std::string(text_bytes, 'a');
}

// A text that is all beginning of a piece as long as are taken.
void write_text_of_long_piece(const std::filesystem::path& path, size_t bytes) {
  write_pieces_and_text(path, "[\"" + std::string(4'095, 'a') + "b\",-1]", bytes);
}

// The same of WordPiece, in words of any length.
void write_word_of_long_piece(const std::filesystem::path& path, size_t bytes) {
  std::ofstream(path.string() + ".json") << R"({"model":{"type":"WordPiece","unk_token":"?","max_input_chars_per_word":1000000000,)"
                                         << R"("vocab":{"?":0,"a":1,"##a":2,"##)" << std::string(4'000, 'a') << "b\":3}}}";
  std::ofstream(path) << std::string(bytes, 'a');
}

// A text that is all beginning of a long sequence of a character map: a double array in which each letter's node has 256 units.
void write_text_of_long_sequence(const std::filesystem::path& path, size_t bytes) {
  constexpr uint32_t kNode = 256;
  constexpr uint32_t kLetters = 4'000;
  std::vector<uint32_t> units(1 + (kLetters + 2) * kNode);
  uint32_t* nodes = units.data() + 1;
  units[0] = static_cast<uint32_t>(4 * (units.size() - 1));
  nodes[0] = kNode << 10;
  for (uint32_t letter = 1; letter <= kLetters; ++letter) {
    const uint32_t from = letter * kNode ^ 'a';
    nodes[from] = (from ^ ((letter + 1) * kNode)) << 10 | 'a';
  }
  std::vector<uint8_t> map(4 * units.size());
  std::memcpy(map.data(), units.data(), map.size());
  GgufWriter writer;
  writer.add_string("general.architecture", "t5");
  writer.add_string("tokenizer.ggml.model", "t5");
  writer.add_strings("tokenizer.ggml.tokens", std::vector<std::string>{"<pad>", "</s>", "<unk>", "a"});
  writer.add_array<float>("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -1});
  writer.add_array<uint8_t>("tokenizer.ggml.precompiled_charsmap", map);
  writer.write(path.string() + ".gguf");
  std::ofstream(path) << std::string(bytes, 'a');
}

// The pieces aa, aaa … up to `most` letters, each an end of the next.
std::string nested_pieces(size_t most) {
  std::string list;
  for (size_t length = 2; length <= most; ++length) list += (length == 2 ? "[\"" : ",[\"") + std::string(length, 'a') + "\",-1]";
  return list;
}

// As many as are taken.
void write_text_of_nested_pieces(const std::filesystem::path& path, size_t bytes) {
  write_pieces_and_text(path, nested_pieces(128), bytes);
}

void write_nested_pieces(const std::filesystem::path& path, size_t bytes) {
  write_pieces_and_text(path, nested_pieces(static_cast<size_t>(std::sqrt(2 * static_cast<double>(bytes)))), bytes);
}

void write_split_patterns(const std::filesystem::path& path, size_t bytes) {
  const std::string pattern = list_of(std::min(bytes / 250, size_t{60'000}), [](uint64_t) { return R"(\\p{L}+|\\bx)"; });
  write_tokenizer(path, R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[)" +
                            repeated(R"({"type":"Split","behavior":"Isolated","pattern":{"Regex":")" + pattern + "\"}}", 250) + "]},");
}

void write_template_ids(const std::filesystem::path& path, size_t bytes) {
  const auto zero = [](uint64_t) { return std::string("0"); };
  const auto special = [](uint64_t) { return std::string(R"({"SpecialToken":{"id":"a"}})"); };
  write_tokenizer(path, R"("post_processor":{"type":"TemplateProcessing","single":[)" + list_of(bytes / 2, special) +
                            R"(],"special_tokens":{"a":{"ids":[)" + list_of(bytes / 2, zero) + "]}}},");
}

void write_enum(const std::filesystem::path& path, size_t bytes) {
  std::ofstream(path) << R"({"enum":[)" << list_of(bytes, [](uint64_t index) { return '"' + plain_name(index) + '"'; }) << "]}";
}

void write_schema_properties(const std::filesystem::path& path, size_t bytes) {
  const auto property = [](uint64_t index) { return '"' + plain_name(index) + R"(":{"type":"integer"})"; };
  std::ofstream(path) << R"({"properties":{)" << list_of(bytes, property) << "}}";
}

void write_schema_required(const std::filesystem::path& path, size_t bytes) {
  const auto name = [](uint64_t index) { return '"' + plain_name(index) + '"'; };
  std::ofstream(path) << R"({"type":"object","required":[)" << list_of(bytes, name) << "]}";
}

void write_schema_patterns(const std::filesystem::path& path, size_t bytes) {
  const auto pattern = [](uint64_t index) { return "\"^" + plain_name(index) + R"(":{})"; };
  std::ofstream(path) << R"({"patternProperties":{)" << list_of(bytes, pattern) << "}}";
}

void write_schema_parts(const std::filesystem::path& path, size_t bytes) {
  const auto part = [](uint64_t index) { return R"({"minimum":)" + std::to_string(index) + "}"; };
  std::ofstream(path) << R"({"type":"integer","allOf":[)" << list_of(bytes, part) << "]}";
}

// Each definition is the next one.
void write_schema_references(const std::filesystem::path& path, size_t bytes) {
  const auto next = [](uint64_t index) {
    return '"' + std::to_string(index) + R"(":{"$ref":"#/$defs/)" + std::to_string(index + 1) + "\"}";
  };
  const std::string list = list_of(bytes, next);
  const std::string last = list.substr(list.rfind('/') + 1, list.rfind('"') - list.rfind('/') - 1);
  std::ofstream(path) << R"({"$ref":"#/$defs/0","$defs":{)" << list << ",\"" << last << R"(":{"type":"null"}}})";
}

template <const char* Keyword, std::string (*Branch)(uint64_t)>
void write_schema_branches(const std::filesystem::path& path, size_t bytes) {
  std::ofstream(path) << "{\"" << Keyword << "\":[" << list_of(bytes, Branch) << "]}";
}
constexpr char kAnyOf[] = "anyOf";
constexpr char kOneOf[] = "oneOf";
std::string branch_of_anything(uint64_t) { return "{}"; }
std::string branch_of_integers(uint64_t) { return R"({"type":"integer"})"; }
std::string branch_of_value(uint64_t index) { return R"({"const":")" + plain_name(index) + "\"}"; }
std::string branch_of_format(uint64_t) { return R"({"type":"string","format":"date-time"})"; }
std::string branch_of_pattern(uint64_t index) { return R"({"type":"string","pattern":"^)" + plain_name(index) + "$\"}"; }
std::string branch_of_long_pattern(uint64_t index) {
  return R"({"type":"string","pattern":"^)" + std::string(6'000, 'a') + std::to_string(index) + "$\"}";
}
std::string branch_of_multiple(uint64_t index) { return R"({"type":"integer","multipleOf":)" + std::to_string(900 + index) + "}"; }
std::string branch_of_range(uint64_t index) { return R"({"type":"integer","minimum":)" + std::to_string(index) + R"(,"maximum":9999999})"; }

void write_schema_names_and_patterns(const std::filesystem::path& path, size_t bytes) {
  const auto property = [](uint64_t index) { return '"' + plain_name(index) + R"(":{"type":"integer"})"; };
  const auto pattern = [](uint64_t index) { return "\"^" + plain_name(index) + R"(":{})"; };
  std::ofstream(path) << R"({"properties":{)" << list_of(bytes / 2, property) << R"(},"patternProperties":{)" << list_of(bytes / 2, pattern)
                      << "}}";
}

// As many as are taken, of the greatest length.
void write_schema_long_name_patterns(const std::filesystem::path& path, size_t bytes) {
  const std::string same(std::min(bytes / 6, size_t{65'000}), 'a');
  std::string list;
  for (const char last : {'b', 'c', 'd', 'e', 'f', 'g'}) list += (list.empty() ? "\"^" : ",\"^") + same + last + "$\":{}";
  std::ofstream(path) << R"({"patternProperties":{)" << list << "}}";
}

void write_schema_dependencies(const std::filesystem::path& path, size_t bytes) {
  const auto required = [](uint64_t index) { return '"' + plain_name(index) + R"(":["x"])"; };
  std::ofstream(path) << R"({"type":"object","dependentRequired":{)" << list_of(bytes, required) << "}}";
}

void write_schema_classes(const std::filesystem::path& path, size_t bytes) {
  const std::string pattern = repeated(R"([\\p{L}\\d_])", static_cast<int>(std::min(bytes / 20, size_t{4'000})));
  std::ofstream(path) << R"({"type":"string","pattern":")" << pattern << "\"}";
}

// --- GBNF ---

// `rule(index)` is the rule of that number, without its name.
void write_grammar(const std::filesystem::path& path, size_t bytes, const std::string& root, std::string (*rule)(uint64_t index)) {
  std::string text = "root ::= " + root + "\n";
  for (uint64_t index = 0; text.size() < bytes; ++index) text += "r" + std::to_string(index) + " ::= " + rule(index) + "\n";
  std::ofstream(path) << text;
}

void write_grammar_words(const std::filesystem::path& path, size_t bytes) {
  std::string names = "r0";
  for (uint64_t index = 1; names.size() < bytes / 4; ++index) names += " | r" + std::to_string(index);
  const auto word = [](uint64_t index) { return "\"word" + std::to_string(index) + "\" [a-z]+"; };
  write_grammar(path, bytes, names, word);
}

// Each rule is a letter and the next rule; those beyond the last are missing, which is found out by reading all of it.
void write_grammar_chain(const std::filesystem::path& path, size_t bytes) {
  write_grammar(path, bytes, "r0", [](uint64_t index) { return "\"a\" | \"b\" r" + std::to_string(index + 1); });
}

void write_grammar_choices(const std::filesystem::path& path, size_t bytes) {
  std::string choices = "(\"x\"";
  for (uint64_t index = 0; choices.size() < bytes; ++index) choices += " | \"" + plain_name(index) + '"';
  std::ofstream(path) << "root ::= " << choices << ")+\n";
}

const std::vector<std::string> kTokenize = {"tokenize", "--model", "FILE", "--text", "a"};

const std::vector<Kind> kKinds = {
    {"gguf_keys", "a.gguf", write_metadata_keys<plain_name>, {"inspect", "FILE"}},
    {"gguf_keys_json", "a.gguf", write_metadata_keys<plain_name>, {"inspect", "FILE", "--json"}},
    {"gguf_keys_of_one_hash", "a.gguf", write_metadata_keys<colliding_name>, {"inspect", "FILE", "--json"}},
    {"gguf_tensors", "a.gguf", write_tensor_names<plain_name>, {"inspect", "FILE", "--json"}},
    {"gguf_tensors_of_one_hash", "a.gguf", write_tensor_names<colliding_name>, {"inspect", "FILE"}},
    {"gguf_strings", "a.gguf", write_string_array, {"inspect", "FILE"}},
    {"gguf_long_string", "a.gguf", write_long_key, {"inspect", "FILE", "--json"}},
    {"gguf_no_model", "a.gguf", write_tensor_names<plain_name>, {"run", "--model", "FILE", "--prompt", "x"}},
    {"gguf_quantize", "a.gguf", write_tensor_names<plain_name>, {"quantize", "FILE", "/dev/null", "Q4_K_M"}},
    {"safetensors_metadata", "a.safetensors", write_safetensors_metadata, {"inspect", "FILE"}},
    {"safetensors_metadata_json", "a.safetensors", write_safetensors_metadata, {"inspect", "FILE", "--json"}},
    {"safetensors_tensors", "a.safetensors", write_safetensors_tensors<kF32>, {"inspect", "FILE", "--json"}},
    {"safetensors_refused", "a.safetensors", write_safetensors_tensors<kF8>, {"inspect", "FILE", "--json"}},
    {"pickle_memo", "a.pt", write_memo, {"inspect", "FILE"}},
    {"pickle_marks", "a.pt", write_marks, {"inspect", "FILE"}},
    {"pickle_values", "a.pt", write_values, {"inspect", "FILE"}},
    {"pickle_lists", "a.pt", write_lists, {"inspect", "FILE"}},
    {"tokenizer_pieces", "a.json", write_pieces<plain_name>, kTokenize},
    {"tokenizer_pieces_of_one_hash", "a.json", write_pieces<colliding_name>, kTokenize},
    {"tokenizer_added", "a.json", write_added_tokens, kTokenize},
    {"tokenizer_normalized", "a.json", write_normalized_tokens, kTokenize},
    {"tokenizer_text_of_long_token", "a.txt", write_text_of_long_token, {"tokenize", "--model", "FILE.json", "--file", "FILE"}},
    {"tokenizer_text_of_long_piece", "a.txt", write_text_of_long_piece, {"tokenize", "--model", "FILE.json", "--file", "FILE"}},
    {"tokenizer_word_of_long_piece", "a.txt", write_word_of_long_piece, {"tokenize", "--model", "FILE.json", "--file", "FILE"}},
    {"tokenizer_text_of_long_sequence", "a.txt", write_text_of_long_sequence, {"tokenize", "--model", "FILE.gguf", "--file", "FILE"}},
    {"tokenizer_text_of_nested_pieces", "a.txt", write_text_of_nested_pieces, {"tokenize", "--model", "FILE.json", "--file", "FILE"}},
    {"tokenizer_nested_pieces", "a.txt", write_nested_pieces, {"tokenize", "--model", "FILE.json", "--file", "FILE"}},
    {"tokenizer_patterns", "a.json", write_split_patterns, kTokenize},
    {"tokenizer_template", "a.json", write_template_ids, kTokenize},
    {"gbnf_words", "a.gbnf", write_grammar_words, {"grammar", "--grammar-file", "FILE"}},
    {"gbnf_chain", "a.gbnf", write_grammar_chain, {"grammar", "--grammar-file", "FILE"}},
    {"gbnf_choices", "a.gbnf", write_grammar_choices, {"grammar", "--grammar-file", "FILE"}},
    {"schema_enum", "a.json", write_enum, {"grammar", "--json-schema", "FILE"}},
    {"schema_properties", "a.json", write_schema_properties, {"grammar", "--json-schema", "FILE"}},
    {"schema_required", "a.json", write_schema_required, {"grammar", "--json-schema", "FILE"}},
    {"schema_patterns", "a.json", write_schema_patterns, {"grammar", "--json-schema", "FILE"}},
    {"schema_parts", "a.json", write_schema_parts, {"grammar", "--json-schema", "FILE"}},
    {"schema_any_of_anything", "a.json", write_schema_branches<kAnyOf, branch_of_anything>, {"grammar", "--json-schema", "FILE"}},
    {"schema_any_of_integers", "a.json", write_schema_branches<kAnyOf, branch_of_integers>, {"grammar", "--json-schema", "FILE"}},
    {"schema_any_of_values", "a.json", write_schema_branches<kAnyOf, branch_of_value>, {"grammar", "--json-schema", "FILE"}},
    {"schema_any_of_formats", "a.json", write_schema_branches<kAnyOf, branch_of_format>, {"grammar", "--json-schema", "FILE"}},
    {"schema_any_of_patterns", "a.json", write_schema_branches<kAnyOf, branch_of_pattern>, {"grammar", "--json-schema", "FILE"}},
    {"schema_any_of_ranges", "a.json", write_schema_branches<kAnyOf, branch_of_range>, {"grammar", "--json-schema", "FILE"}},
    {"schema_one_of_anything", "a.json", write_schema_branches<kOneOf, branch_of_anything>, {"grammar", "--json-schema", "FILE"}},
    {"schema_one_of_integers", "a.json", write_schema_branches<kOneOf, branch_of_integers>, {"grammar", "--json-schema", "FILE"}},
    {"schema_one_of_values", "a.json", write_schema_branches<kOneOf, branch_of_value>, {"grammar", "--json-schema", "FILE"}},
    {"schema_one_of_patterns", "a.json", write_schema_branches<kOneOf, branch_of_pattern>, {"grammar", "--json-schema", "FILE"}},
    {"schema_one_of_long_patterns", "a.json", write_schema_branches<kOneOf, branch_of_long_pattern>, {"grammar", "--json-schema", "FILE"}},
    {"schema_any_of_multiples", "a.json", write_schema_branches<kAnyOf, branch_of_multiple>, {"grammar", "--json-schema", "FILE"}},
    {"schema_long_name_patterns", "a.json", write_schema_long_name_patterns, {"grammar", "--json-schema", "FILE"}},
    {"schema_one_of_ranges", "a.json", write_schema_branches<kOneOf, branch_of_range>, {"grammar", "--json-schema", "FILE"}},
    {"schema_names_and_patterns", "a.json", write_schema_names_and_patterns, {"grammar", "--json-schema", "FILE"}},
    {"schema_dependencies", "a.json", write_schema_dependencies, {"grammar", "--json-schema", "FILE"}},
    {"schema_classes", "a.json", write_schema_classes, {"grammar", "--json-schema", "FILE"}},
    {"schema_references", "a.json", write_schema_references, {"grammar", "--json-schema", "FILE"}},
};

class LinearTime : public testing::TestWithParam<Kind> {
 protected:
  // The best of three, in seconds of CPU time: of wall time, other programs take their part.
  static double seconds_to_read(const Kind& kind, size_t bytes) {
    const TemporaryFolder folder;
    kind.write(folder / kind.file, bytes);
    Arguments arguments = kind.command;
    for (std::string& argument : arguments) {
      if (argument.starts_with("FILE")) argument.replace(0, 4, folder / kind.file);
    }
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      std::istringstream in;
      std::ostringstream out;
      std::ostringstream err;
      Console console{.name = "wick", .executable = {}, .in = in, .out = out, .err = err};
      const std::clock_t start = std::clock();
      const int code = run_wick(console, arguments);
      best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
      EXPECT_NE(code, kExitInternal) << err.str();
    }
    return best;
  }
};

TEST_P(LinearTime, TenTimesTheBytesTakeTenTimesAsLong) {
  if (platform::kSpoilsFreshMemory) GTEST_SKIP() << "times are those of the release build";
  const double small = seconds_to_read(GetParam(), kSmall);
  RecordProperty("seconds", std::to_string(small));  // --gtest_output=json shows them
  EXPECT_LT(small, kMaxSeconds);
  if (small >= kMaxSeconds) return;  // the larger one might take an hour
  EXPECT_LT(seconds_to_read(GetParam(), 10 * kSmall), kMaxGrowth * std::max(small, kShortSeconds));
}

INSTANTIATE_TEST_SUITE_P(Files, LinearTime, testing::ValuesIn(kKinds), [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wick
