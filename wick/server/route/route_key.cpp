#include "wick/server/route/route_key.h"

#include <array>

#include "wick/base/hash.h"
#include "wick/server/api_error.h"

namespace wick::server {
namespace {

// Digits of pi: every router must give a prompt the same hashes.
constexpr HashKey kBlockKey{.first = 0x243F6A8885A308D3u, .second = 0x13198A2E03707344u, .odd = 0xA4093822299F31D1u};

constexpr std::array<const char*, 7> kRoutedMembers = {"tools", "system", "instructions", "messages", "prompt", "input", "input_prefix"};

std::string text_member(const Json& body, const char* name) {
  const auto found = body.find(name);
  return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string prompt_text(const Json& body) {
  std::string text;
  for (const char* name : kRoutedMembers) {
    const auto found = body.find(name);
    if (found == body.end() || found->is_null()) continue;
    text.append(name).append("=").append(to_text(*found)).append("\n");
  }
  return text;
}

std::vector<uint64_t> hash_blocks(std::string_view model, std::string_view text) {
  std::vector<uint64_t> blocks;
  blocks.reserve(text.size() / kPromptBlockBytes);
  uint64_t hash = keyed_hash(model, kBlockKey);
  for (; text.size() >= kPromptBlockBytes; text.remove_prefix(kPromptBlockBytes)) {
    hash = split_mix(hash + kSplitMixStep) ^ keyed_hash(text.substr(0, kPromptBlockBytes), kBlockKey);
    blocks.push_back(hash);
  }
  return blocks;
}

RouteKey route_key(const HttpRequest& request) {
  RouteKey key;
  if (const auto session = request.headers.find("X-Session-Id")) key.session = *session;
  if (request.body.empty()) return key;
  try {
    const Json& body = request.json();
    if (!body.is_object()) return key;
    key.model = text_member(body, "model");
    if (key.session.empty()) key.session = text_member(body, "session_id");
    if (key.session.empty()) key.session = text_member(body, "prompt_cache_key");
    // Replicas share no cache between requests of different salts.
    key.blocks = hash_blocks(key.model + text_member(body, "cache_salt"), prompt_text(body));
  } catch (const ApiError&) {
    return key;
  }
  return key;
}

}  // namespace wick::server
