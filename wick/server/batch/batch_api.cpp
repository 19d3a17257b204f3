#include "wick/server/batch/batch_api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/server/api_error.h"
#include "wick/server/batch/batch_input.h"
#include "wick/server/batch/batch_service.h"
#include "wick/server/batch/batch_store.h"
#include "wick/server/batch/multipart.h"
#include "wick/server/fields.h"
#include "wick/server/request_id.h"
#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {
namespace {

constexpr int64_t kMaxListed = 10'000;
constexpr int64_t kMaxWindow = int64_t{30} * 24 * 3600;
constexpr int64_t kMinExpiry = 3600;  // of files, OpenAI's
constexpr size_t kMaxMetadata = 16;

void respond_object(const Exchange& exchange, const Json& json) { exchange->respond(json_response(200, to_text(json))); }

// Errors: ApiError with status 404.
Json find_object(const BatchStore& store, const std::string& id, std::string_view kind) {
  std::optional<Json> found = store.find(id);
  if (!found || (*found)["object"] != kind) throw ApiError(404, "NOT_FOUND", fmt::format("there is no {} {}", kind, shown(Json(id))));
  return *std::move(found);
}

// --- Lists ---

// The number that a text is. Errors: ApiError, with the field and the first bytes of the text, for another text and a number out of range.
int64_t number_of(const char* field, std::string_view text, int64_t least, int64_t most, size_t shown_bytes = std::string_view::npos) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    throw ApiError({{.field = field,
                     .constraint = fmt::format("must be from {} to {}", least, most),
                     .value = std::string(text.substr(0, shown_bytes))}});
  }
  return number;
}

// A page of a list: what follows the object `after`.
Json page_of(std::vector<Json> all, const HttpRequest& request, int64_t usual) {
  const auto text = request.query_value("limit");
  const int64_t limit = text ? number_of("limit", *text, 1, kMaxListed) : usual;
  if (request.query_value("order").value_or("desc") == "asc") std::ranges::reverse(all);
  if (const auto after = request.query_value("after")) {
    const auto found = std::ranges::find_if(all, [&](const Json& json) { return json["id"] == *after; });
    if (found == all.end()) throw ApiError({{.field = "after", .constraint = "must be an id of the list", .value = std::string(*after)}});
    all.erase(all.begin(), found + 1);
  }
  const bool has_more = std::ssize(all) > limit;
  if (has_more) all.resize(static_cast<size_t>(limit));
  return list_page(Json(std::move(all)), has_more);
}

// --- Files ---

const FormPart* part_named(const std::vector<FormPart>& parts, std::string_view name) {
  const auto found = std::ranges::find_if(parts, [&](const FormPart& part) { return part.name == name; });
  return found == parts.end() ? nullptr : &*found;
}

std::optional<int64_t> expiry_of(const std::vector<FormPart>& parts) {
  const FormPart* const seconds = part_named(parts, "expires_after[seconds]");
  if (seconds == nullptr) return std::nullopt;
  return Worker::unix_time() + number_of("expires_after[seconds]", seconds->content, kMinExpiry, kMaxWindow, 40);
}

void upload_file(BatchStore& store, const HttpRequest& request, const Exchange& exchange) {
  const std::vector<FormPart> parts = parse_form(request.headers.find("Content-Type").value_or(""), request.body);
  const FormPart* const file = part_named(parts, "file");
  const FormPart* const purpose = part_named(parts, "purpose");
  std::vector<Violation> violations;
  if (file == nullptr) violations.push_back({"file", "is required", ""});
  if (purpose == nullptr || purpose->content != "batch") {
    violations.push_back({"purpose", "must be batch: this server has files for batches alone", ""});
  }
  if (!violations.empty()) throw ApiError(std::move(violations));
  const std::string name = file->file_name.empty() ? "file.jsonl" : std::filesystem::path(file->file_name).filename().string();
  respond_object(exchange, store.add_file(name, purpose->content, file->content, expiry_of(parts)));
}

void list_files(const BatchStore& store, const HttpRequest& request, const Exchange& exchange) {
  std::vector<Json> all = store.list("file");
  if (const auto purpose = request.query_value("purpose"))
    std::erase_if(all, [&](const Json& json) { return json["purpose"] != *purpose; });
  respond_object(exchange, page_of(std::move(all), request, kMaxListed));
}

void send_content(const BatchStore& store, const std::string& id, const Exchange& exchange) {
  static_cast<void>(find_object(store, id, "file"));
  std::optional<std::string> content = store.content_of(id);
  if (!content) throw ApiError(404, "NOT_FOUND", fmt::format("the bytes of file {} are gone", id));
  exchange->respond({.status = 200, .headers = {{"Content-Type", "application/octet-stream"}}, .body = *std::move(content)});
}

void delete_file(BatchStore& store, const BatchService& service, const std::string& id, const Exchange& exchange) {
  static_cast<void>(find_object(store, id, "file"));
  if (service.reads(id))
    throw ApiError(409, "CONFLICT", fmt::format("file {} is the input of a batch that has not ended; cancel it first", id));
  store.remove_file(id);
  respond_object(exchange, {{"id", id}, {"object", "file"}, {"deleted", true}});
}

// --- Batches ---

// "24h", "30m", "90s", "7d" in seconds.
std::optional<int64_t> seconds_of(std::string_view window) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(window.data(), window.data() + window.size(), count);
  if (error != std::errc() || end + 1 != window.data() + window.size() || count < 1 || count > kMaxWindow) return std::nullopt;
  constexpr std::array<std::pair<char, int64_t>, 4> kUnits = {{{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}}};
  for (const auto& [unit, seconds] : kUnits) {
    if (*end == unit && count * seconds <= kMaxWindow) return count * seconds;
  }
  return std::nullopt;
}

Json read_metadata(Fields& fields) {
  const Json* const metadata = fields.object("metadata");
  if (metadata == nullptr) return nullptr;
  const bool are_texts = std::ranges::all_of(*metadata, [](const Json& value) { return value.is_string(); });
  if (metadata->size() > kMaxMetadata || !are_texts) fields.violate("metadata", fmt::format("must have at most {} texts", kMaxMetadata));
  return *metadata;
}

Json read_output_expiry(Fields& fields) {
  const Json* const after = fields.object("output_expires_after");
  if (after == nullptr) return nullptr;
  Fields members(*after, "output_expires_after");
  members.require("seconds");
  const auto seconds = members.integer("seconds", kMinExpiry, kMaxWindow);
  fields.take(std::move(members.violations()));
  return {{"seconds", seconds.value_or(kMinExpiry)}};
}

void create_batch(BatchStore& store, BatchService& service, const HttpRequest& request, const Exchange& exchange) {
  const Json& body = request.json();
  Fields fields(body);
  for (const char* name : {"input_file_id", "endpoint", "completion_window"}) fields.require(name);
  const std::string file = fields.text("input_file_id").value_or("");
  const std::string endpoint = fields.text("endpoint").value_or("");
  const auto window = seconds_of(fields.text("completion_window").value_or("24h"));
  if (!endpoint.empty() && std::ranges::find(kBatchUrls, endpoint) == kBatchUrls.end()) {
    fields.violate("endpoint", "must be one of " + all_batch_urls());
  }
  if (!window) fields.violate("completion_window", "must be a time such as 24h, at most 30d");
  Json metadata = read_metadata(fields);
  Json output_expiry = read_output_expiry(fields);
  fields.check();
  if (const auto found = store.find(file); !found || (*found)["object"] != "file") {
    throw ApiError({{.field = "input_file_id", .constraint = "must be the id of a file of /v1/files", .value = shown(Json(file))}});
  }
  const int64_t now = Worker::unix_time();
  Json batch = {{"id", random_id("batch_")},
                {"object", "batch"},
                {"endpoint", endpoint},
                {"errors", nullptr},
                {"input_file_id", file},
                {"completion_window", body["completion_window"]},
                {"status", "validating"},
                {"output_file_id", nullptr},
                {"error_file_id", nullptr},
                {"created_at", now},
                {"in_progress_at", nullptr},
                {"expires_at", now + *window},
                {"finalizing_at", nullptr},
                {"completed_at", nullptr},
                {"failed_at", nullptr},
                {"expired_at", nullptr},
                {"cancelling_at", nullptr},
                {"cancelled_at", nullptr},
                {"request_counts", {{"total", 0}, {"completed", 0}, {"failed", 0}}},
                {"metadata", std::move(metadata)}};
  if (!output_expiry.is_null()) batch["output_expires_after"] = std::move(output_expiry);
  respond_object(exchange, service.create(std::move(batch)));
}

// --- Routes ---

struct BatchRoute {
  const char* method;
  const char* path;
  void (*handle)(BatchStore& store, BatchService& service, HttpRequest& request, const Exchange& exchange);
};

std::string id_of(const HttpRequest& request) { return std::string(request.parameter("id")); }

constexpr auto kBatchRoutes = std::to_array<BatchRoute>({
    {"POST", "/files",
     [](BatchStore& store, BatchService&, HttpRequest& request, const Exchange& exchange) { upload_file(store, request, exchange); }},
    {"GET", "/files",
     [](BatchStore& store, BatchService&, HttpRequest& request, const Exchange& exchange) { list_files(store, request, exchange); }},
    {"GET", "/files/{id}",
     [](BatchStore& store, BatchService&, HttpRequest& request, const Exchange& exchange) {
       respond_object(exchange, find_object(store, id_of(request), "file"));
     }},
    {"GET", "/files/{id}/content",
     [](BatchStore& store, BatchService&, HttpRequest& request, const Exchange& exchange) {
       send_content(store, id_of(request), exchange);
     }},
    {"DELETE", "/files/{id}",
     [](BatchStore& store, BatchService& service, HttpRequest& request, const Exchange& exchange) {
       delete_file(store, service, id_of(request), exchange);
     }},
    {"POST", "/batches",
     [](BatchStore& store, BatchService& service, HttpRequest& request, const Exchange& exchange) {
       create_batch(store, service, request, exchange);
     }},
    {"GET", "/batches",
     [](BatchStore& store, BatchService&, HttpRequest& request, const Exchange& exchange) {
       respond_object(exchange, page_of(store.list("batch"), request, 20));
     }},
    {"GET", "/batches/{id}",
     [](BatchStore& store, BatchService&, HttpRequest& request, const Exchange& exchange) {
       respond_object(exchange, find_object(store, id_of(request), "batch"));
     }},
    {"POST", "/batches/{id}/cancel",
     [](BatchStore& store, BatchService& service, HttpRequest& request, const Exchange& exchange) {
       static_cast<void>(find_object(store, id_of(request), "batch"));
       respond_object(exchange, service.cancel(id_of(request)));
     }},
});

void add_batch_routes(Router& router, BatchStore* store, BatchService* service) {
  for (const std::string prefix : {"/v1", "/openai/v1"}) {
    for (const BatchRoute& route : kBatchRoutes) {
      router.add(route.method, prefix + route.path, Dialect::openai, [=](HttpRequest& request, const Exchange& exchange) {
        if (store == nullptr) {
          throw ApiError(501, "UNSUPPORTED", "files and batches are kept only where the server was started with --batch-folder FOLDER");
        }
        route.handle(*store, *service, request, exchange);
      });
    }
  }
}

class BatchPart final : public ServerPart {
 public:
  BatchPart(const std::filesystem::path& folder, const ServerPartOptions& options) {
    if (!folder.empty()) {
      store_.emplace(folder);
      service_.emplace(*store_, options.router, BatchServiceOptions{.at_once = options.at_once, .log = options.log});
    }
    add_batch_routes(options.router, store_ ? &*store_ : nullptr, service_ ? &*service_ : nullptr);
  }

  void start() override {
    if (service_) service_->start();
  }
  void stop() override {
    if (service_) service_->stop();
  }

 private:
  std::optional<BatchStore> store_;
  std::optional<BatchService> service_;
};

}  // namespace

std::function<std::unique_ptr<ServerPart>(const ServerPartOptions&)> make_batch_part(const std::filesystem::path& folder) {
  return [folder](const ServerPartOptions& options) { return std::make_unique<BatchPart>(folder, options); };
}

}  // namespace wick::server
