// A ReplicaSet is the router's knowledge of its replicas: which there are, which answer, what models they have and how busy they are. It
// gives each request one of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/json.h"
#include "wick/server/route/replica_chooser.h"
#include "wick/server/route/replica_list.h"
#include "wick/server/route/upstream_client.h"

namespace wick::server {

// waiting: not asked yet; not_ready: it loads its model or stops; unusable: it cannot be used until its setting or the router's is changed.
enum class ReplicaState { waiting, ready, not_ready, down, unusable };
[[nodiscard]] std::string_view to_string(ReplicaState state) noexcept;

// A replica's own statements.
struct ReplicaFacts {
  Json models = Json::array();  // the entries of its GET /v1/models
  std::string version = {};
};

[[nodiscard]] bool has_model(const ReplicaFacts& facts, std::string_view name);

struct ReplicaCounts {
  uint64_t requests = 0;   // sent to it
  uint64_t failures = 0;   // that it left without an answer, or with half of one
  uint64_t ejections = 0;  // times that it went from ready to down
  uint64_t blocks_queried = 0, blocks_held = 0;
  std::map<ChoiceReason, uint64_t> choices = {};
};

// A replica as it is now.
struct ReplicaRow {
  ReplicaAddress address;
  ReplicaState state = ReplicaState::waiting;
  std::string problem;  // why it is not ready
  ReplicaFacts facts;
  int64_t in_flight = 0;
  ReplicaCounts counts;
};

// Any number of threads may use it.
class ReplicaSet {
 private:
  struct Replica;

 public:
  // A request's hold on its replica: it counts as in flight until the lease ends.
  class Lease {
   public:
    Lease(ReplicaSet& set, std::shared_ptr<Replica> replica);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    [[nodiscard]] const ReplicaAddress& address() const noexcept;
    // The call that is aborted if the replica stops answering.
    void attach(const std::shared_ptr<UpstreamCall>& call);
    // The replica left the request without an answer: no other is sent to it until it answers again.
    void fail(const std::string& error);

   private:
    ReplicaSet& set_;
    std::shared_ptr<Replica> replica_;
    std::weak_ptr<UpstreamCall> call_;
  };

  // `log`: an event's level, and what it says. `version`: the router's, which replicas should have, too.
  ReplicaSet(int64_t balance_bound, std::string version, std::function<void(std::string_view level, const Json& details)> log);
  ~ReplicaSet();
  ReplicaSet(const ReplicaSet&) = delete;
  ReplicaSet& operator=(const ReplicaSet&) = delete;

  // The replicas that there are from now on. One that stays keeps its state; one that is left out gets no further request.
  void assign(const std::vector<ReplicaAddress>& replicas);

  // The replica for a request, none of `tried`. Errors: ApiError with status 404 where no replica has the model, naming those that there
  // are; 503 where none that has it is ready.
  [[nodiscard]] std::unique_ptr<Lease> acquire(const RouteKey& key, std::span<const std::string> tried);

  // --- What polls tell ---
  void is_ready(const ReplicaAddress& address, ReplicaFacts facts);
  // `load`: requests that it computes or has in its queue, from all routers and clients.
  void has_load(const ReplicaAddress& address, int64_t load);
  void is_not_ready(const ReplicaAddress& address, ReplicaState state, const std::string& problem);
  // Why the list of replicas cannot be read where it is; empty: it can. Clients are told where there is no replica.
  void list_is_unreadable(const std::string& problem);
  // Requests that are under way there end: it does not answer any more.
  void abort_calls(const ReplicaAddress& address);

  [[nodiscard]] std::vector<ReplicaRow> rows() const;
  [[nodiscard]] std::string list_problem() const;
  // The models of all replicas that are ready, each once.
  [[nodiscard]] Json models() const;
  // Called with the name of a replica that has failed a request: its state should be asked for now. Before the first request.
  void on_failure(std::function<void(const std::string& name)> callback) { on_failure_ = std::move(callback); }

 private:
  [[nodiscard]] Replica* find(const ReplicaAddress& address) const;
  // Sets the state, logs a change, and forgets what a replica that is down was sent.
  void change(Replica& replica, ReplicaState state, const std::string& problem);
  [[noreturn]] void refuse(const RouteKey& key, std::span<const std::string> tried) const;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Replica>> replicas_;
  std::string list_problem_;
  ReplicaChooser chooser_;
  std::string version_;
  std::function<void(std::string_view, const Json&)> log_;
  std::function<void(const std::string&)> on_failure_;
};

}  // namespace wick::server
