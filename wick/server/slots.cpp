#include "wick/server/slots.h"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/fields.h"

namespace wick::server {
namespace {

// What file systems take.
constexpr size_t kMaxNameBytes = 255;

int64_t slot_number(const HttpRequest& http, const Service& service) {
  const std::string_view text = http.parameter("id");
  int64_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0 || id >= service.engine->info().sequences) {
    throw ApiError({{.field = "id",
                     .constraint = fmt::format("must be a slot from 0 to {}", service.engine->info().sequences - 1),
                     .value = std::string(text)}});
  }
  return id;
}

std::filesystem::path slot_file(const Worker& worker, const HttpRequest& http, std::string& name) {
  if (worker.options().slot_folder.empty()) {
    throw ApiError(501, "UNSUPPORTED", "slots are saved only where the server was started with --slot-save-path FOLDER");
  }
  const Json& body = http.json();
  Fields fields(body);
  fields.require("filename");
  name = fields.text("filename").value_or("");
  const bool is_name =
      !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
  if (fields.has("filename") && fields.violations().empty() && !is_name)
    fields.violate("filename", "must be a file's name without a folder");
  if (name.size() > kMaxNameBytes) fields.violate("filename", fmt::format("must have at most {} bytes", kMaxNameBytes));
  fields.check();
  const std::filesystem::path path = std::filesystem::path(worker.options().slot_folder) / name;
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fields.violate("filename", "must not be a folder's name");
  fields.check();
  return path;
}

// What the library says of a file, with its name in place of its path on this machine, which is none of the client's business.
[[noreturn]] void refuse_file(const Error& error, const std::filesystem::path& path, const std::string& name) {
  std::string message = error.what();
  for (const std::filesystem::path& place : {path, path.parent_path()}) {
    const std::string text = place.string();
    const std::string shown = place == path ? name : "the folder of slots";
    for (size_t at = message.find(text); at != std::string::npos; at = message.find(text, at + shown.size())) {
      message.replace(at, text.size(), shown);
    }
  }
  throw ApiError(Error(error.code(), message));
}

template <class Work>
int64_t on_file(const std::filesystem::path& path, const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    refuse_file(error, path, name);
  }
}

class Stopwatch {
 public:
  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

uint64_t size_of(const std::filesystem::path& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<uint64_t>(size);
}

void change_slot(Worker& worker, Slots& slots, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const int64_t id = slot_number(http, *service);
  const std::string_view action = http.query_value("action").value_or("");
  const Stopwatch watch;
  std::string name;
  Json json = {{"id_slot", id}};
  if (action == "save") {
    const std::filesystem::path path = slot_file(worker, http, name);
    const int64_t saved = on_file(path, name, [&] { return service->engine->save_session(slots.tokens_of(id), path); });
    json.update({{"filename", name}, {"n_saved", saved}, {"n_written", size_of(path)}, {"timings", {{"save_ms", watch.milliseconds()}}}});
  } else if (action == "restore") {
    const std::filesystem::path path = slot_file(worker, http, name);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      throw ApiError(400, "INVALID_REQUEST", fmt::format("filename: there is no saved slot {}", name));
    }
    const int64_t restored = on_file(path, name, [&] { return service->engine->restore_session(path); });
    json.update(
        {{"filename", name}, {"n_restored", restored}, {"n_read", size_of(path)}, {"timings", {{"restore_ms", watch.milliseconds()}}}});
  } else if (action == "erase") {
    // Blocks of the cache are shared, so that none is one slot's alone.
    json["n_erased"] = slots.tokens_of(id).size();
    service->engine->forget_prefixes();
    slots.forget_all();
  } else {
    throw ApiError({{.field = "action", .constraint = "must be save, restore or erase", .value = std::string(action)}});
  }
  exchange->respond(json_response(200, to_text(json)));
}

void list_slots(Worker& worker, const Slots& slots, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const EngineInfo& info = service->engine->info();
  const int64_t running = service->engine->metrics().running;
  Json list = Json::array();
  for (int64_t i = 0; i < info.sequences; ++i) {
    list.push_back({{"id", i}, {"n_ctx", info.context}, {"is_processing", i < running}, {"n_past", slots.tokens_of(i).size()}});
  }
  exchange->respond(json_response(200, to_text(list)));
}

}  // namespace

void Slots::keep(int64_t slot, std::vector<TokenId> tokens) {
  const std::scoped_lock lock(mutex_);
  tokens_[slot] = std::move(tokens);
}

std::vector<TokenId> Slots::tokens_of(int64_t slot) const {
  const std::scoped_lock lock(mutex_);
  const auto found = tokens_.find(slot);
  return found == tokens_.end() ? std::vector<TokenId>() : found->second;
}

void Slots::forget_all() {
  const std::scoped_lock lock(mutex_);
  tokens_.clear();
}

void add_slot_routes(Router& router, Worker& worker, const std::shared_ptr<Slots>& slots) {
  router.add("GET", "/slots", Dialect::llama,
             [&worker, slots](HttpRequest&, const Exchange& exchange) { list_slots(worker, *slots, exchange); });
  router.add("POST", "/slots/{id}", Dialect::llama,
             [&worker, slots](HttpRequest& request, const Exchange& exchange) { change_slot(worker, *slots, request, exchange); });
}

}  // namespace wick::server
