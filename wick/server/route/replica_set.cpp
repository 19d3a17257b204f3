#include "wick/server/route/replica_set.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/api_error.h"

namespace wick::server {
namespace {

// As Ollama's clients name a model that has no other tag.
constexpr std::string_view kLatestTag = ":latest";

bool is_tried(std::string_view name, std::span<const std::string> tried) { return std::ranges::find(tried, name) != tried.end(); }

std::string text_of_member(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool names_model(const Json& entry, std::string_view name) {
  if (text_of_member(entry, "id") == name) return true;
  const auto aliases = entry.find("aliases");
  if (aliases == entry.end() || !aliases->is_array()) return false;
  return std::ranges::any_of(*aliases, [&](const Json& alias) { return alias.is_string() && alias.get<std::string>() == name; });
}

struct FoundModel {
  bool is_adapter = false;
};

// The model of a request among those that a replica has; a request that names none takes any.
std::optional<FoundModel> find_model_of(const ReplicaFacts& facts, std::string_view name) {
  if (name.empty()) return FoundModel();
  for (size_t index = 0; index < facts.models.size(); ++index) {
    // A worker has one model, which it lists before its adapters; a server of several names an adapter's model as its parent.
    const bool is_pool = facts.models[index].contains("status");
    if (names_model(facts.models[index], name)) return FoundModel{is_pool ? facts.models[index].contains("parent") : index > 0};
  }
  if (name.ends_with(kLatestTag)) return find_model_of(facts, name.substr(0, name.size() - kLatestTag.size()));
  return std::nullopt;
}

}  // namespace

bool has_model(const ReplicaFacts& facts, std::string_view name) { return find_model_of(facts, name).has_value(); }

std::string_view to_string(ReplicaState state) noexcept {
  switch (state) {
    case ReplicaState::waiting: return "waiting";
    case ReplicaState::ready: return "ready";
    case ReplicaState::not_ready: return "not_ready";
    case ReplicaState::down: return "down";
    case ReplicaState::unusable: return "unusable";
  }
  return "";
}

struct ReplicaSet::Replica {
  explicit Replica(ReplicaAddress where) : address(std::move(where)) {}

  ReplicaAddress address;
  ReplicaState state = ReplicaState::waiting;
  std::string problem = "it was not asked yet";
  ReplicaFacts facts;
  int64_t in_flight = 0;
  int64_t others_load = 0;  // requests that came from elsewhere, as of the last poll
  ReplicaCounts counts;
  std::vector<std::weak_ptr<UpstreamCall>> calls;
};

ReplicaSet::Lease::Lease(ReplicaSet& set, std::shared_ptr<Replica> replica) : set_(set), replica_(std::move(replica)) {}

ReplicaSet::Lease::~Lease() {
  const std::scoped_lock lock(set_.mutex_);
  --replica_->in_flight;
  std::erase_if(replica_->calls, [&](const std::weak_ptr<UpstreamCall>& call) {
    return call.expired() || (!call.owner_before(call_) && !call_.owner_before(call));
  });
}

const ReplicaAddress& ReplicaSet::Lease::address() const noexcept { return replica_->address; }

void ReplicaSet::Lease::attach(const std::shared_ptr<UpstreamCall>& call) {
  const std::scoped_lock lock(set_.mutex_);
  call_ = call;
  replica_->calls.push_back(call);
}

void ReplicaSet::Lease::fail(const std::string& error) {
  {
    const std::scoped_lock lock(set_.mutex_);
    ++replica_->counts.failures;
    if (replica_->state == ReplicaState::ready) set_.change(*replica_, ReplicaState::down, error);
  }
  if (set_.on_failure_) set_.on_failure_(replica_->address.name);
}

ReplicaSet::ReplicaSet(int64_t balance_bound, std::string version, std::function<void(std::string_view level, const Json& details)> log)
    : chooser_(balance_bound), version_(std::move(version)), log_(std::move(log)) {}

ReplicaSet::~ReplicaSet() = default;

ReplicaSet::Replica* ReplicaSet::find(const ReplicaAddress& address) const {
  const auto found = std::ranges::find_if(replicas_, [&](const auto& replica) { return replica->address == address; });
  return found == replicas_.end() ? nullptr : found->get();
}

void ReplicaSet::assign(const std::vector<ReplicaAddress>& replicas) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Replica>> next;
  for (const ReplicaAddress& address : replicas) {
    const auto stays = std::ranges::find_if(replicas_, [&](const auto& replica) { return replica->address == address; });
    if (stays != replicas_.end()) {
      next.push_back(*stays);
      continue;
    }
    next.push_back(std::make_shared<Replica>(address));
    log_("info", {{"replica", address.name}, {"state", "added"}});
  }
  for (const auto& replica : replicas_) {
    if (std::ranges::find(next, replica) != next.end()) continue;
    chooser_.forget(replica->address.name);
    log_("info", {{"replica", replica->address.name}, {"state", "removed"}});
  }
  replicas_ = std::move(next);
}

std::unique_ptr<ReplicaSet::Lease> ReplicaSet::acquire(const RouteKey& key, std::span<const std::string> tried) {
  const std::scoped_lock lock(mutex_);
  std::vector<ReplicaCandidate> candidates;
  std::vector<std::shared_ptr<Replica>> owners;
  for (const std::shared_ptr<Replica>& replica : replicas_) {
    if (replica->state != ReplicaState::ready || is_tried(replica->address.name, tried)) continue;
    const std::optional<FoundModel> found = find_model_of(replica->facts, key.model);
    if (!found) continue;
    candidates.push_back(
        {.name = replica->address.name, .load = replica->in_flight + replica->others_load, .model_is_adapter = found->is_adapter});
    owners.push_back(replica);
  }
  if (candidates.empty()) refuse(key, tried);
  const ReplicaChoice choice = chooser_.choose(key, candidates);
  Replica& chosen = *owners[choice.index];
  chooser_.remember(chosen.address.name, key);
  ++chosen.in_flight;
  ++chosen.counts.requests;
  ++chosen.counts.choices[choice.reason];
  chosen.counts.blocks_queried += key.blocks.size();
  chosen.counts.blocks_held += choice.blocks_held;
  return std::make_unique<Lease>(*this, owners[choice.index]);
}

void ReplicaSet::refuse(const RouteKey& key, std::span<const std::string> tried) const {
  std::set<std::string> models;
  std::string problems;
  bool has_ready = false;
  bool has_model = false;
  for (const std::shared_ptr<Replica>& replica : replicas_) {
    const bool is_ready = replica->state == ReplicaState::ready;
    has_ready = has_ready || is_ready;
    has_model = has_model || find_model_of(replica->facts, key.model).has_value();
    if (!is_ready) problems += fmt::format("{}{}: {}", problems.empty() ? "" : "; ", replica->address.name, replica->problem);
    if (!is_ready) continue;
    for (const Json& entry : replica->facts.models) models.insert(text_of_member(entry, "id"));
  }
  if (has_ready && !has_model) {
    std::string all;
    for (const std::string& model : models) all += (all.empty() ? "" : ", ") + model;
    throw ApiError(404, "model_not_found", fmt::format("no replica has a model {}; they have {}", key.model, all));
  }
  std::string message = replicas_.empty() ? "there is no replica" : tried.empty() ? "no replica is ready" : "no other replica is ready";
  if (!list_problem_.empty()) problems += (problems.empty() ? "" : "; ") + list_problem_;
  if (!problems.empty()) message += " (" + problems + ")";
  throw ApiError(503, "NO_REPLICA_READY", message).retry_after(std::chrono::seconds(1));
}

void ReplicaSet::change(Replica& replica, ReplicaState state, const std::string& problem) {
  const ReplicaState before = std::exchange(replica.state, state);
  const bool is_news = before != state || replica.problem != problem;
  replica.problem = problem;
  if (state == ReplicaState::down) {
    replica.others_load = 0;
    chooser_.forget(replica.address.name);
    if (before == ReplicaState::ready) ++replica.counts.ejections;
  }
  if (!is_news) return;
  Json details = {{"replica", replica.address.name}, {"state", to_string(state)}};
  if (!problem.empty()) details["message"] = problem;
  log_(state == ReplicaState::ready ? "info" : "warning", details);
}

void ReplicaSet::is_ready(const ReplicaAddress& address, ReplicaFacts facts) {
  const std::scoped_lock lock(mutex_);
  Replica* const replica = find(address);
  if (replica == nullptr) return;
  const bool is_other = !facts.version.empty() && facts.version != version_ && facts.version != replica->facts.version;
  replica->facts = std::move(facts);
  change(*replica, ReplicaState::ready, "");
  if (!is_other) return;
  log_("warning",
       {{"replica", address.name},
        {"message", fmt::format("it runs version {}, the router {}; requests go there, but answers may differ from those of other "
                                "replicas: run one version on all",
                                replica->facts.version, version_)}});
}

void ReplicaSet::has_load(const ReplicaAddress& address, int64_t load) {
  const std::scoped_lock lock(mutex_);
  if (Replica* const replica = find(address)) replica->others_load = std::max<int64_t>(load - replica->in_flight, 0);
}

void ReplicaSet::is_not_ready(const ReplicaAddress& address, ReplicaState state, const std::string& problem) {
  const std::scoped_lock lock(mutex_);
  if (Replica* const replica = find(address)) change(*replica, state, problem);
}

void ReplicaSet::list_is_unreadable(const std::string& problem) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(list_problem_, problem) == problem) return;
  if (problem.empty()) return log_("info", {{"message", "the list of replicas is read again"}});
  log_("warning", {{"message", problem + (replicas_.empty() ? "" : "; the replicas stay those that were read before")}});
}

std::string ReplicaSet::list_problem() const {
  const std::scoped_lock lock(mutex_);
  return list_problem_;
}

void ReplicaSet::abort_calls(const ReplicaAddress& address) {
  std::vector<std::shared_ptr<UpstreamCall>> live;  // let go without the lock, which the end of a request takes
  const std::scoped_lock lock(mutex_);
  const Replica* const replica = find(address);
  if (replica == nullptr) return;
  for (const std::weak_ptr<UpstreamCall>& call : replica->calls) live.push_back(call.lock());
  std::erase(live, nullptr);
  for (const std::shared_ptr<UpstreamCall>& call : live) call->abort(replica->problem);
}

std::vector<ReplicaRow> ReplicaSet::rows() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ReplicaRow> rows;
  for (const auto& replica : replicas_) {
    rows.push_back({.address = replica->address,
                    .state = replica->state,
                    .problem = replica->problem,
                    .facts = replica->facts,
                    .in_flight = replica->in_flight,
                    .counts = replica->counts});
  }
  return rows;
}

Json ReplicaSet::models() const {
  const std::scoped_lock lock(mutex_);
  Json list = Json::array();
  std::set<std::string> ids;
  for (const auto& replica : replicas_) {
    if (replica->state != ReplicaState::ready) continue;
    for (const Json& entry : replica->facts.models) {
      if (ids.insert(text_of_member(entry, "id")).second) list.push_back(entry);
    }
  }
  return list;
}

}  // namespace wick::server
