#include "wick/server/route/replica_poller.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/api_error.h"

namespace wick::server {
namespace {

// What a poll reads of a response at most: a list of models may be long.
constexpr size_t kMaxPollBody = size_t{16} << 20U;

constexpr std::string_view kLate = "no answer in time";

Json object_of(const std::string& body) {
  try {
    Json json = parse_body(body);
    if (json.is_object()) return json;
  } catch (const ApiError&) {
    // No object.
  }
  return Json::object();
}

// What a server says of its error, as one line that is not long.
std::string message_in(const std::string& body) {
  constexpr size_t kMaxShown = 300;
  std::string message = error_message_in(object_of(body)).substr(0, kMaxShown);
  if (message.empty()) return {};
  std::ranges::replace_if(message, [](unsigned char c) { return c < ' ' || c >= 0x7F; }, '?');
  return ": " + message;
}

}  // namespace

std::optional<int64_t> load_in_metrics(std::string_view text) {
  std::optional<int64_t> load;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view name = line.substr(0, line.find_first_of("{ "));
    if (!name.ends_with("num_requests_running") && !name.ends_with("num_requests_waiting")) continue;
    if (line.starts_with('#')) continue;
    const size_t space = line.rfind(' ');
    if (space == std::string_view::npos) continue;
    const std::string value(line.substr(space + 1));
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (end == value.c_str()) continue;
    constexpr double kMaxLoad = 1e9;
    if (std::isfinite(number) && number >= 0 && number <= kMaxLoad) load = load.value_or(0) + static_cast<int64_t>(number);
  }
  return load;
}

// One round of questions to a replica.
struct ReplicaPoller::Poll {
  ReplicaAddress address;
  bool wants_facts = false;
  ReplicaFacts facts = {};
};

ReplicaPoller::ReplicaPoller(ReplicaPollerOptions options, ReplicaSet& replicas, UpstreamClient& client,
                             std::function<void(std::string_view level, const Json& details)> log)
    : options_(std::move(options)), replicas_(replicas), client_(client), log_(std::move(log)) {
  std::vector<ReplicaAddress> listed;
  if (!options_.file.empty()) {
    stamp_ = stamp_of_file();
    listed = read_replica_file(options_.file);
  }
  const std::scoped_lock lock(mutex_);
  assign(std::move(listed), {});
}

void ReplicaPoller::start() {
  thread_ = std::thread([this] { run(); });
}

void ReplicaPoller::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ReplicaPoller::hurry(const std::string& name) {
  {
    const std::scoped_lock lock(mutex_);
    const auto target = targets_.find(name);
    if (target != targets_.end()) target->second.facts_due = {};
    hurries_ = true;
  }
  changed_.notify_all();
}

void ReplicaPoller::run() {
  for (;;) {
    if (options_.application) ask_application();
    ask_all();
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, options_.interval, [this] { return ends_ || hurries_; });
      if (ends_) return;
      // A replica that fails each request is still asked no more often than this.
      if (std::exchange(hurries_, false)) changed_.wait_for(lock, options_.interval / 10, [this] { return ends_; });
      if (ends_) return;
    }
    if (!options_.file.empty()) read_file_again();
  }
}

ReplicaPoller::FileStamp ReplicaPoller::stamp_of_file() const {
  std::error_code ignored;
  FileStamp stamp;
  stamp.time = std::filesystem::last_write_time(options_.file, ignored);
  stamp.bytes = std::filesystem::file_size(options_.file, ignored);
  return stamp;
}

void ReplicaPoller::read_file_again() {
  const FileStamp now = stamp_of_file();
  if (now == stamp_) return;
  stamp_ = now;
  try {
    std::vector<ReplicaAddress> listed = read_replica_file(options_.file);
    const std::scoped_lock lock(mutex_);
    assign(std::move(listed), served_);
  } catch (const Error& error) {
    log_("warning", {{"message", fmt::format("{}; the replicas stay those that were read before", error.what())}});
  }
}

void ReplicaPoller::ask_application() {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(application_is_asked_, true)) return;
  }
  get(*options_.application, "/v1/replicas", [this](const std::string& error, int status, const std::string& body) {
    replicas_.list_is_unreadable(take_list(error, status, body));
    const std::scoped_lock lock(mutex_);
    application_is_asked_ = false;
  });
}

std::string ReplicaPoller::take_list(const std::string& error, int status, const std::string& body) {
  const std::string place = fmt::format("--serve {}", options_.application->name);
  if (!error.empty()) return fmt::format("{}: {}; start the application, or correct its address", place, error);
  if (status == 401 || status == 403) {
    return options_.key.key.empty() ? fmt::format("{}: it asks for a key: give one of the application's by --replica-key", place)
                                    : fmt::format("{}: it refuses the key of --replica-key: give one of the application's", place);
  }
  if (status != 200) {
    return fmt::format("{}: GET /v1/replicas gave status {}{}; give the address of an application of wick.ray whose models are routed",
                       place, status, message_in(body));
  }
  try {
    std::vector<ReplicaAddress> served = parse_replicas(place, body);
    const std::scoped_lock lock(mutex_);
    if (served == served_) return {};
    assign(listed_, std::move(served));
    hurries_ = true;
    changed_.notify_all();
    return {};
  } catch (const Error& problem) {
    const std::string message = problem.what();
    return message.starts_with(place) ? message : fmt::format("{}: {}", place, message);
  }
}

void ReplicaPoller::assign(std::vector<ReplicaAddress> listed, std::vector<ReplicaAddress> served) {
  std::vector<ReplicaAddress> all = options_.fixed;
  all.insert(all.end(), listed.begin(), listed.end());
  all.insert(all.end(), served.begin(), served.end());
  if (options_.application) {
    check_unique(all);
  } else {
    check_replicas(all);
  }
  replicas_.assign(all);
  listed_ = std::move(listed);
  served_ = std::move(served);
  std::map<std::string, Target> next;
  for (const ReplicaAddress& address : all) {
    const auto known = targets_.find(address.name);
    const bool stays = known != targets_.end() && known->second.address == address;
    next.emplace(address.name, stays ? std::move(known->second) : Target{.address = address});
  }
  targets_ = std::move(next);
}

void ReplicaPoller::ask_all() {
  std::vector<Poll> polls;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [name, target] : targets_) {
      if (std::exchange(target.is_asked, true)) continue;
      polls.push_back({.address = target.address, .wants_facts = Clock::now() >= target.facts_due});
    }
  }
  for (Poll& poll : polls) {
    ask(std::move(poll), "/v1/ready", [this](Poll now, int status, const std::string& body) { take_ready(std::move(now), status, body); });
  }
}

void ReplicaPoller::get(const ReplicaAddress& to, const std::string& path,
                        std::function<void(const std::string& error, int status, std::string body)> then) {
  struct Answer {
    int status = 0;
    std::string body;
  };
  const auto answer = std::make_shared<Answer>();
  UpstreamRequest request{.to = to, .head = upstream_head("GET", path, to, options_.key), .limit = options_.limit};
  UpstreamEvents events;
  events.head = [answer](const UpstreamHead& head) { answer->status = head.status; };
  events.piece = [answer](std::string_view piece) {
    if (answer->body.size() < kMaxPollBody) answer->body += piece;
  };
  events.end = [answer, then = std::move(then)](const std::string& error) { then(error, answer->status, std::move(answer->body)); };
  client_.make_call(std::move(request), std::move(events))->start();
}

void ReplicaPoller::ask(Poll poll, const std::string& path, std::function<void(Poll, int status, std::string body)> then) {
  const ReplicaAddress to = poll.address;
  get(to, path, [this, to, poll = std::move(poll), then = std::move(then)](const std::string& error, int status, std::string body) {
    if (!error.empty()) {
      const bool may_have_tls = error == kUpstreamEnded && !to.url.is_secure && to.unix_socket.empty();
      take_failure(poll, may_have_tls ? error + "; a server with TLS has a URL with https://" : error, error == kLate);
    } else {
      then(poll, status, std::move(body));
    }
  });
}

void ReplicaPoller::take_ready(Poll poll, int status, const std::string& body) {
  const Json ready = object_of(body);
  if (!ready.contains("ready")) {
    replicas_.is_not_ready(poll.address, ReplicaState::unusable,
                           fmt::format("it is no server of Wick: GET /v1/ready gave status {}; check its address", status));
    return end(poll, false);
  }
  if (status != 200) {
    const auto state = ready.find("state");
    const bool is_loading = state != ready.end() && *state == "loading";
    replicas_.is_not_ready(poll.address, ReplicaState::not_ready, is_loading ? "it loads its model" : "it takes no requests");
    return end(poll, false);
  }
  const auto next = [this](Poll now, int code, const std::string& text) {
    if (now.wants_facts) {
      take_models(std::move(now), code, text);
    } else {
      take_metrics(now, code, text);
    }
  };
  const char* const path = poll.wants_facts ? "/v1/models" : "/metrics";
  ask(std::move(poll), path, next);
}

void ReplicaPoller::take_models(Poll poll, int status, const std::string& body) {
  if (status == 401 || status == 403) {
    replicas_.is_not_ready(poll.address, ReplicaState::unusable,
                           options_.key.key.empty() ? "it asks for a key: give its key by --replica-key"
                                                    : "it refuses the key of --replica-key: give it one of its keys");
    return end(poll, false);
  }
  const Json json = object_of(body);
  const auto data = json.find("data");
  if (status != 200 || data == json.end() || !data->is_array()) {
    replicas_.is_not_ready(poll.address, ReplicaState::unusable, fmt::format("its list of models has status {} and no models", status));
    return end(poll, false);
  }
  for (const Json& entry : *data) {
    if (entry.is_object() && entry.contains("id") && entry["id"].is_string()) poll.facts.models.push_back(entry);
  }
  if (!poll.address.model.empty() && !has_model(poll.facts, poll.address.model)) {
    replicas_.is_not_ready(
        poll.address, ReplicaState::unusable,
        fmt::format("it has no model {}, which the list says: another server has its address; correct the list", poll.address.model));
    return end(poll, false);
  }
  ask(std::move(poll), "/info", [this](Poll now, int code, const std::string& text) { take_info(std::move(now), code, text); });
}

void ReplicaPoller::take_info(Poll poll, int status, const std::string& body) {
  const Json info = object_of(body);
  const auto version = info.find("version");
  if (status == 200 && version != info.end() && version->is_string()) poll.facts.version = version->get<std::string>();
  replicas_.is_ready(poll.address, poll.facts);
  ask(std::move(poll), "/metrics", [this](const Poll& now, int code, const std::string& text) { take_metrics(now, code, text); });
}

void ReplicaPoller::take_metrics(const Poll& poll, int status, const std::string& body) {
  if (status == 200) {
    if (const std::optional<int64_t> load = load_in_metrics(body)) replicas_.has_load(poll.address, *load);
  }
  end(poll, true);
}

void ReplicaPoller::take_failure(const Poll& poll, const std::string& error, bool is_late) {
  int failures = 0;
  {
    const std::scoped_lock lock(mutex_);
    const auto target = targets_.find(poll.address.name);
    if (target != targets_.end()) failures = ++target->second.failures;
  }
  // Who refuses a connection has gone; who is late may be busy.
  if (!is_late || failures >= options_.patience) {
    replicas_.is_not_ready(poll.address, ReplicaState::down, error);
    if (is_late) replicas_.abort_calls(poll.address);
    return end(poll, false);
  }
  const std::scoped_lock lock(mutex_);
  const auto target = targets_.find(poll.address.name);
  if (target != targets_.end()) target->second.is_asked = false;
}

void ReplicaPoller::end(const Poll& poll, bool is_usable) {
  const std::scoped_lock lock(mutex_);
  const auto target = targets_.find(poll.address.name);
  if (target == targets_.end()) return;
  target->second.is_asked = false;
  if (is_usable) target->second.failures = 0;
  // What a replica is may have changed when it comes back.
  if (!is_usable) target->second.facts_due = {};
  if (is_usable && poll.wants_facts) target->second.facts_due = Clock::now() + options_.facts_interval;
}

}  // namespace wick::server
