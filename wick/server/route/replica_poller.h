// A ReplicaPoller asks the replicas again and again whether they are ready, what models they have and how busy they are, an application of
// Ray Serve which replicas it has, and reads the file that lists them when it changes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "wick/server/route/replica_set.h"
#include "wick/server/route/upstream_client.h"
#include "wick/server/route/upstream_message.h"

namespace wick::server {

struct ReplicaPollerOptions {
  std::vector<ReplicaAddress> fixed = {};                    // those of flags
  std::filesystem::path file = {};                           // further ones; empty: none
  std::optional<ReplicaAddress> application = std::nullopt;  // which lists further ones
  ReplicaKey key = {};
  std::chrono::milliseconds interval{1'000};
  std::chrono::milliseconds limit{5'000};           // of one question
  int patience = 3;                                 // questions in a row without an answer in time, until the replica counts as down
  std::chrono::milliseconds facts_interval{5'000};  // between two questions for models and version
};

class ReplicaPoller {
 public:
  // Reads the file. Errors: read_replica_file's and check_replicas'.
  ReplicaPoller(ReplicaPollerOptions options, ReplicaSet& replicas, UpstreamClient& client,
                std::function<void(std::string_view level, const Json& details)> log);
  ~ReplicaPoller() { stop(); }
  ReplicaPoller(const ReplicaPoller&) = delete;
  ReplicaPoller& operator=(const ReplicaPoller&) = delete;

  void start();
  // Before the client's threads have ended.
  void stop();
  // Asks this replica, which has failed a request, for its state and its models before the interval is over.
  void hurry(const std::string& name);

 private:
  using Clock = std::chrono::steady_clock;
  struct Poll;
  // A replica whose state is known by its address, with what is between two polls.
  struct Target {
    ReplicaAddress address;
    bool is_asked = false;  // a poll is under way
    int failures = 0;       // in a row
    Clock::time_point facts_due = {};
  };
  struct FileStamp {
    std::filesystem::file_time_type time = {};
    uintmax_t bytes = 0;
    bool operator==(const FileStamp&) const = default;
  };

  void run();
  // Reads the file where it is another than before; a list that cannot be used is said in the log, and the one before stays.
  void read_file_again();
  void ask_application();
  // Why the application's list cannot be used; the one before stays then. Empty: it is used.
  [[nodiscard]] std::string take_list(const std::string& error, int status, const std::string& body);
  // The replicas that there are from now on. With the lock.
  void assign(std::vector<ReplicaAddress> listed, std::vector<ReplicaAddress> served);
  [[nodiscard]] FileStamp stamp_of_file() const;
  void ask_all();
  // `error`: why there is no response.
  void get(const ReplicaAddress& to, const std::string& path,
           std::function<void(const std::string& error, int status, std::string body)> then);
  void ask(Poll poll, const std::string& path, std::function<void(Poll, int status, std::string body)> then);
  void take_ready(Poll poll, int status, const std::string& body);
  void take_models(Poll poll, int status, const std::string& body);
  void take_info(Poll poll, int status, const std::string& body);
  void take_metrics(const Poll& poll, int status, const std::string& body);
  void take_failure(const Poll& poll, const std::string& error, bool is_late);
  void end(const Poll& poll, bool is_usable);

  ReplicaPollerOptions options_;
  ReplicaSet& replicas_;
  UpstreamClient& client_;
  std::function<void(std::string_view, const Json&)> log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Target> targets_;  // by name
  FileStamp stamp_;
  std::vector<ReplicaAddress> listed_, served_;  // by the file, and by the application
  bool application_is_asked_ = false;
  bool hurries_ = false, ends_ = false;
  std::thread thread_;
};

// The sum of num_requests_running and num_requests_waiting in a replica's /metrics, whatever its prefix.
[[nodiscard]] std::optional<int64_t> load_in_metrics(std::string_view text);

}  // namespace wick::server
