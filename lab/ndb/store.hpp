// Requests of the lab as transactions of NDB, many at a time, by one thread.
#pragma once

#include "table.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace lab {

class Store;

enum class Work {
    // The committed value, without a lock.
    Get,
    // The value with an exclusive lock on its first row, in a transaction that stays open.
    Lock,
    // Writes into that transaction and commits it.
    Put,
    // Ends that transaction and changes nothing.
    Free,
    Set,
    Remove,
};

// One request, and then one transaction after the other until it is answered.
class Call {
public:
    // Whose request it is, for the one who takes the answer.
    std::uint64_t connection = 0;
    std::uint32_t tag = 0;
    Work work = Work::Get;
    std::string key;
    // What is to be written, or what was read.
    std::string value;

    // What came of it.
    bool is_found = false;
    // A value was written; false where somebody else has made the key meanwhile.
    bool is_taken = false;
    std::string failure;
    // Nobody waits for it any more.
    bool is_orphan = false;

private:
    friend class Store;
    enum class Stage { First, Rest, Writing, Ending };

    // Who carries it out: all that the client library gives back is the call.
    Store *store_ = nullptr;
    NdbTransaction *transaction_ = nullptr;
    Stage stage_ = Stage::First;
    // A long value that is only read is read with locks, so that all its rows are of one write.
    bool is_shared_ = false;
    std::uint32_t parts_ = 0;
    std::vector<std::unique_ptr<Row>> rows_;
    std::chrono::steady_clock::time_point begun_;
    std::chrono::steady_clock::time_point again_;
};

class Store {
public:
    explicit Store(Ndb_cluster_connection &cluster);

    // Begins a request. The call must stay where it is until `settled` gives it back; one that locks comes
    // back with its transaction open, and goes on with `put` or `free`.
    void begin(Call *call);
    void put(Call *call);
    void free(Call *call);

    // Sends what was begun, and waits for an answer of NDB, a millisecond at most.
    void turn();

    // How long nothing need be done here, in milliseconds; without an end where nothing is under way.
    int idle_ms() const;

    // The next call that has its answer; null where there is none.
    Call *settled();

private:
    static void completed(int result, NdbTransaction *transaction, void *call);

    void start(Call &call);
    void read_first(Call &call);
    void read_rest(Call &call);
    void write(Call &call);
    void execute(Call &call, NdbTransaction::ExecType type);
    void look(Call &call);
    void look_at_first(Call &call);
    void look_at_rest(Call &call);
    void look_at_write(Call &call);
    void finish_read(Call &call);
    void fault(Call &call, const NdbError &error);
    void close(Call &call);
    void done(Call &call);
    Row &row(Call &call, std::uint32_t part);
    void give_back(Call &call);

    Ndb ndb_;
    std::unique_ptr<Table> table_;
    // Transactions that are open, and calls that wait for room among them.
    unsigned open_ = 0;
    unsigned in_flight_ = 0;
    std::deque<Call *> waiting_;
    // What NDB asked to be tried again, in the order of its time.
    std::deque<Call *> later_;
    std::vector<Call *> answered_;
    std::deque<Call *> settled_;
    // Rows that are used again: each has room for the longest value.
    std::vector<std::unique_ptr<Row>> spare_;
};

} // namespace lab
