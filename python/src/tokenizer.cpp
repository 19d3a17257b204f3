// Tokenizers and chat templates.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "array.h"
#include "tokenizer.h"
#include "wick/text/chat/call_detection.h"
#include "wick/text/chat/chat_parser.h"
#include "wick/text/chat/chat_template.h"

namespace wick_python {
namespace {

using wick::TokenId;
using wick::Tokenizer;

void bind_tokenizer_class(nb::module_& module) {
  nb::class_<SharedTokenizer>(module, "Tokenizer", "Text to the token ids of a vocabulary and back. Any number of threads may use one.")
      .def_static(
          "load", [](const std::filesystem::path& path) { return unlocked([&] { return SharedTokenizer{Tokenizer::load(path)}; }); },
          nb::arg("path"),
          "From a GGUF file, a tokenizer.json, a SentencePiece or tiktoken .model, or a folder that has one.\n\n"
          "Raises NotFoundError, CorruptFileError, UnsupportedError.")
      .def(
          "encode",
          [](const SharedTokenizer& self, std::string_view text, bool add_special, bool parse_special) {
            return unlocked([&] { return self->encode(text, {.add_special = add_special, .parse_special = parse_special}); });
          },
          nb::arg("text"), nb::kw_only(), nb::arg("add_special") = true, nb::arg("parse_special") = false,
          "The ids of a text.\n\nadd_special: with the BOS, EOS … that the vocabulary asks for.\n"
          "parse_special: control tokens spelled out in the text are taken for those tokens.")
      .def(
          "decode",
          [](const SharedTokenizer& self, const std::vector<TokenId>& ids, bool skip_special) {
            return unlocked([&] { return self->decode(ids, skip_special); });
          },
          nb::arg("ids"), nb::kw_only(), nb::arg("skip_special") = true, "The text of ids. Raises IndexError for an id that is none.")
      .def_prop_ro("vocab_size", [](const SharedTokenizer& self) { return self->vocab_size(); })
      .def(
          "token_text", [](const SharedTokenizer& self, TokenId id) { return std::string(self->token_text(id)); }, nb::arg("id"),
          "The vocabulary's own spelling of a token.")
      .def(
          "token_bytes",
          [](const SharedTokenizer& self, TokenId id) {
            const std::string bytes = self->token_bytes(id);
            return nb::bytes(bytes.data(), bytes.size());
          },
          nb::arg("id"), "What the token adds in the middle of a text.")
      .def(
          "find_token", [](const SharedTokenizer& self, std::string_view text) { return self->find_token(text); }, nb::arg("text"))
      .def_prop_ro("bos", [](const SharedTokenizer& self) { return self->bos(); })
      .def_prop_ro("eos", [](const SharedTokenizer& self) { return self->eos(); })
      .def_prop_ro("pad", [](const SharedTokenizer& self) { return self->pad(); })
      .def(
          "is_control", [](const SharedTokenizer& self, TokenId id) { return self->is_control(id); }, nb::arg("id"))
      .def(
          "ends_generation", [](const SharedTokenizer& self, TokenId id) { return self->ends_generation(id); }, nb::arg("id"))
      .def("__len__", [](const SharedTokenizer& self) { return self->vocab_size(); });
}

nb::list events_of(const std::vector<wick::ChatEvent>& events) {
  static constexpr const char* kNames[] = {"content", "reasoning", "call_begin", "arguments", "call_end"};
  nb::list list;
  for (const wick::ChatEvent& event : events) {
    list.append(nb::make_tuple(kNames[static_cast<size_t>(event.kind)], event.text, event.call, event.id, event.name));
  }
  return list;
}

}  // namespace

void bind_tokenizer(nb::module_& module) {
  bind_tokenizer_class(module);
  nb::class_<wick::ChatTemplate>(module, "ChatTemplate", "The rules by which a conversation becomes a text, written in Jinja.")
      .def(
          "__init__",
          [](wick::ChatTemplate* self, std::string_view source, std::string name) {
            new (self) wick::ChatTemplate(wick::ChatTemplate::parse(source, std::move(name)));
          },
          nb::arg("source"), nb::arg("name") = "chat template")
      .def_prop_ro("source", &wick::ChatTemplate::source)
      .def_prop_ro("takes_tools", &wick::ChatTemplate::takes_tools)
      .def(
          "_render_json",
          [](const wick::ChatTemplate& self, const std::string& variables) {
            return unlocked([&] { return self.render_json(variables); });
          },
          nb::arg("variables"))
      .def(
          "_render",
          [](const wick::ChatTemplate& self, const std::string& messages, const std::string& tools, bool add_generation_prompt,
             const std::string& variables, const std::string& bos_token, const std::string& eos_token) {
            return unlocked([&] {
              return self.render({.messages = wick::chat_messages_from_json(messages),
                                  .tools = tools,
                                  .add_generation_prompt = add_generation_prompt,
                                  .variables = variables,
                                  .bos_token = bos_token,
                                  .eos_token = eos_token});
            });
          },
          nb::arg("messages"), nb::arg("tools"), nb::arg("add_generation_prompt"), nb::arg("variables"), nb::arg("bos_token"),
          nb::arg("eos_token"));
  nb::class_<wick::ChatParser>(module, "_ChatParser")
      .def(
          "__init__",
          [](wick::ChatParser* self, const wick::ChatTemplate& chat_template, const std::string& prompt, const std::string& tools,
             const SharedTokenizer& tokenizer) {
            const std::shared_ptr<const wick::CallSyntax> syntax = chat_template.traits().syntax;
            new (self) wick::ChatParser({.syntax = syntax,
                                         .starts_in_reasoning = wick::ends_in_reasoning(prompt, *syntax),
                                         .tools = tools,
                                         .tokenizer = tokenizer.tokenizer.get()});
          },
          nb::arg("chat_template"), nb::arg("prompt"), nb::arg("tools"), nb::arg("tokenizer"), nb::keep_alive<1, 5>())
      .def(
          "push",
          [](wick::ChatParser& self, std::string_view text, std::optional<TokenId> token) {
            return events_of(token ? self.push(*token, text) : self.push(text));
          },
          nb::arg("text"), nb::arg("token") = nb::none())
      .def("finish", [](wick::ChatParser& self) { return events_of(self.finish()); });
}

}  // namespace wick_python
