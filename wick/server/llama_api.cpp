// The endpoints of llama.cpp's server that its users' tools call: /completion, /tokenize, /detokenize, /props, /slots.
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/utf8.h"
#include "wick/server/adapter_fields.h"
#include "wick/server/dialect.h"
#include "wick/server/embeddings_api.h"
#include "wick/server/event_stream.h"
#include "wick/server/fields.h"
#include "wick/server/llama_completion.h"
#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {
namespace {

// "invalid_request_error", "unavailable_error" …
std::string_view llama_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 404: return "not_found_error";
    case 501: return "not_supported_error";
    case 503: return "unavailable_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

Json llama_error(const ApiError& error) {
  Json json = {{"code", error.status()}, {"message", error.what()}, {"type", llama_type(error.status())}};
  error.add_context_excess(json);
  return {{"error", std::move(json)}};
}

std::string llama_stream_end(const ApiError& /*error*/, const std::string& body) { return event_text(body, "error"); }

// A token alone: as text, or as the bytes of a part of a character.
Json piece_json(const Tokenizer& tokenizer, TokenId token) {
  std::string bytes = tokenizer.is_control(token) ? std::string(tokenizer.token_text(token)) : tokenizer.token_bytes(token);
  if (is_valid_utf8(bytes)) return bytes;
  Json numbers = Json::array();
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return numbers;
}

// A text of a million tokens makes a response of 100 MB.
constexpr size_t kMaxTokenizedBytes = size_t{1} << 20U;
constexpr size_t kMaxDetokenizedTokens = size_t{1} << 20U;

void tokenize(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Tokenizer& tokenizer = service->engine->tokenizer();
  const Json& body = http.json();
  Fields fields(body);
  fields.require("content");
  const std::string content = fields.text("content").value_or("");
  if (content.size() > kMaxTokenizedBytes) {
    fields.violate("content", fmt::format("must be at most {} bytes, and is {}; send it in parts", kMaxTokenizedBytes, content.size()));
  }
  const bool add_special = fields.boolean("add_special").value_or(false);
  const bool parse_special = fields.boolean("parse_special").value_or(true);
  const bool with_pieces = fields.boolean("with_pieces").value_or(false);
  fields.check();
  Json tokens = Json::array();
  for (const TokenId token : tokenizer.encode(content, {.add_special = add_special, .parse_special = parse_special})) {
    if (with_pieces) {
      tokens.push_back({{"id", token}, {"piece", piece_json(tokenizer, token)}});
    } else {
      tokens.push_back(token);
    }
  }
  exchange->respond(json_response(200, to_text({{"tokens", std::move(tokens)}})));
}

void detokenize(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  fields.require("tokens");
  std::vector<TokenId> tokens;
  if (const Json* const list = fields.list("tokens")) {
    const int32_t size = service->engine->tokenizer().vocab_size();
    if (list->size() > kMaxDetokenizedTokens) {
      fields.violate("tokens", fmt::format("must be at most {}, and are {}; send them in parts", kMaxDetokenizedTokens, list->size()));
    }
    for (size_t i = 0; i < list->size(); ++i) {
      const Json& item = (*list)[i];
      const bool is_token = item.is_number_integer() && item.get<int64_t>() >= 0 && item.get<int64_t>() < size;
      if (!is_token) {
        fields.violate_path(fmt::format("tokens[{}]", i), fmt::format("must be a token id from 0 to {}", size - 1), shown(item));
        break;
      }
      tokens.push_back(item.get<TokenId>());
    }
  }
  fields.check();
  exchange->respond(json_response(200, to_text({{"content", service->engine->tokenizer().decode(tokens, false)}})));
}

void props(Worker& worker, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const EngineInfo& info = service->engine->info();
  const Tokenizer& tokenizer = service->engine->tokenizer();
  const auto text_of = [&](std::optional<TokenId> token) { return token ? Json(tokenizer.token_text(*token)) : Json(""); };
  Json settings = default_settings(*service);
  settings["n_ctx"] = info.context;
  exchange->respond(json_response(200, to_text({{"default_generation_settings", {{"n_ctx", info.context}, {"params", std::move(settings)}}},
                                                {"total_slots", info.sequences},
                                                {"model_alias", service->model_id},
                                                {"model_path", service->path},
                                                {"chat_template", service->chat_template ? service->chat_template->source() : ""},
                                                {"bos_token", text_of(tokenizer.bos())},
                                                {"eos_token", text_of(tokenizer.eos())},
                                                {"build_info", worker.options().implementation + " " + worker.options().version}})));
}

void add_llama_routes(Router& router, const ApiParts& parts) {
  Worker& worker = parts.worker;
  const auto add = [&](std::string_view method, std::string_view path, auto handler) {
    router.add(method, path, Dialect::llama,
               [&worker, handler](HttpRequest& request, const Exchange& exchange) { handler(worker, request, exchange); });
  };
  add("POST", "/tokenize", tokenize);
  add("POST", "/detokenize", detokenize);
  add_llama_completion_routes(router, worker);
  add_llama_embedding_routes(router, worker);
  add("GET", "/props", [](Worker& own, const HttpRequest&, const Exchange& exchange) { props(own, exchange); });
  add("GET", "/lora-adapters", [](Worker& worker, const HttpRequest&, const Exchange& exchange) {
    exchange->respond(json_response(200, to_text(adapters_json(*worker.service()->engine))));
  });
}

}  // namespace

const Dialect Dialect::llama = {
    .name = "llama.cpp", .error_json = llama_error, .stream_end = llama_stream_end, .add_routes = add_llama_routes};

}  // namespace wick::server
