#include "store.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lab {
namespace {

using Clock = std::chrono::steady_clock;

// As many as one object of the client library may have open.
constexpr unsigned open_max = 1'000;
constexpr int wait_ms = 1;
constexpr int send_at_once = 1;
constexpr auto retry_after = std::chrono::milliseconds(2);
// The lab waits 30 seconds for an answer.
constexpr auto retry_for = std::chrono::seconds(20);
constexpr int no_row = 626;
constexpr int row_exists = 630;

std::size_t parts_of(std::size_t length) {
    return std::max<std::size_t>(1, (length + part_max - 1) / part_max);
}

} // namespace

Store::Store(Ndb_cluster_connection &cluster) : ndb_(&cluster, "lab") {
    if (ndb_.init(static_cast<int>(open_max) + 24) != 0) {
        throw std::runtime_error("the client library: " + text_of(ndb_.getNdbError()));
    }
    table_ = std::make_unique<Table>(ndb_);
}

void Store::begin(Call *call) {
    call->store_ = this;
    call->begun_ = Clock::now();
    if (open_ >= open_max) {
        waiting_.push_back(call);
    } else {
        start(*call);
    }
}

void Store::put(Call *call) {
    call->work = Work::Put;
    write(*call);
}

void Store::free(Call *call) {
    call->work = Work::Free;
    call->stage_ = Call::Stage::Ending;
    execute(*call, NdbTransaction::Rollback);
}

void Store::turn() {
    const auto now = Clock::now();
    while (!later_.empty() && later_.front()->again_ <= now) {
        waiting_.push_back(later_.front());
        later_.pop_front();
    }
    while (!waiting_.empty() && open_ < open_max) {
        Call *call = waiting_.front();
        waiting_.pop_front();
        start(*call);
    }
    if (in_flight_ > 0) {
        ndb_.sendPollNdb(wait_ms, 1, send_at_once);
    }
    for (Call *call : std::exchange(answered_, {})) {
        look(*call);
    }
}

int Store::idle_ms() const {
    const bool has_room = !waiting_.empty() && open_ < open_max;
    if (in_flight_ > 0 || has_room || !settled_.empty()) {
        return 0;
    }
    return later_.empty() ? -1 : wait_ms;
}

Call *Store::settled() {
    if (settled_.empty()) {
        return nullptr;
    }
    Call *call = settled_.front();
    settled_.pop_front();
    return call;
}

// Called by the client library within `turn`, which then looks at what has come.
void Store::completed(int, NdbTransaction *, void *call) {
    auto *answered = static_cast<Call *>(call);
    answered->store_->answered_.push_back(answered);
}

void Store::start(Call &call) {
    Row &first = row(call, 0);
    first.set_key(call.key, 0);
    call.transaction_ = table_->start(ndb_, first);
    if (call.transaction_ == nullptr) {
        fault(call, ndb_.getNdbError());
        return;
    }
    open_++;
    const NdbOperation *operation = nullptr;
    const char *key = reinterpret_cast<const char *>(&first);
    switch (call.work) {
    case Work::Set:
        first.set_value(call.value, 1);
        call.stage_ = Call::Stage::Writing;
        operation = call.transaction_->writeTuple(table_->key(), key, table_->all(), key);
        break;
    case Work::Remove:
        call.stage_ = Call::Stage::Writing;
        operation = call.transaction_->deleteTuple(table_->key(), key, table_->all());
        break;
    default:
        read_first(call);
        return;
    }
    if (operation == nullptr) {
        fault(call, call.transaction_->getNdbError());
        return;
    }
    execute(call, NdbTransaction::Commit);
}

void Store::read_first(Call &call) {
    Row &first = row(call, 0);
    call.stage_ = Call::Stage::First;
    auto mode = NdbOperation::LM_CommittedRead;
    if (call.work == Work::Lock) {
        mode = NdbOperation::LM_Exclusive;
    } else if (call.is_shared_) {
        mode = NdbOperation::LM_Read;
    }
    const char *key = reinterpret_cast<const char *>(&first);
    if (call.transaction_->readTuple(table_->key(), key, table_->data(),
                                     reinterpret_cast<char *>(&first), mode) == nullptr) {
        fault(call, call.transaction_->getNdbError());
        return;
    }
    const bool is_all = mode == NdbOperation::LM_CommittedRead;
    execute(call, is_all ? NdbTransaction::Commit : NdbTransaction::NoCommit);
}

// The rows of a long value behind the first, which is locked. Their own locks show what the last
// transaction has committed, and not what was there before.
void Store::read_rest(Call &call) {
    call.stage_ = Call::Stage::Rest;
    const bool is_locked = call.work == Work::Lock;
    for (std::uint32_t part = 1; part < call.parts_; part++) {
        Row &next = row(call, part);
        next.set_key(call.key, part);
        const auto mode = is_locked ? NdbOperation::LM_Exclusive : NdbOperation::LM_Read;
        const char *key = reinterpret_cast<const char *>(&next);
        if (call.transaction_->readTuple(table_->key(), key, table_->data(),
                                         reinterpret_cast<char *>(&next), mode) == nullptr) {
            fault(call, call.transaction_->getNdbError());
            return;
        }
    }
    execute(call, is_locked ? NdbTransaction::NoCommit : NdbTransaction::Commit);
}

void Store::write(Call &call) {
    call.stage_ = Call::Stage::Writing;
    const std::string_view value = call.value;
    const auto count = static_cast<std::uint32_t>(parts_of(value.size()));
    NdbTransaction &transaction = *call.transaction_;
    const NdbOperation *operation = nullptr;
    for (std::uint32_t part = 0; part < std::max(count, call.parts_); part++) {
        Row &next = row(call, part);
        next.set_key(call.key, part);
        const char *bytes = reinterpret_cast<const char *>(&next);
        if (part >= count) {
            operation = transaction.deleteTuple(table_->key(), bytes, table_->all());
        } else {
            next.set_value(value.substr(part * part_max, part_max), count);
            operation = part < call.parts_
                ? transaction.updateTuple(table_->key(), bytes, table_->data(), bytes)
                : transaction.insertTuple(table_->all(), bytes);
        }
        if (operation == nullptr) {
            fault(call, transaction.getNdbError());
            return;
        }
    }
    execute(call, NdbTransaction::Commit);
}

void Store::execute(Call &call, NdbTransaction::ExecType type) {
    // A row that is not there is no error of the transaction where it is read.
    const bool reads = call.stage_ == Call::Stage::First || call.stage_ == Call::Stage::Rest;
    const auto option = reads ? NdbOperation::AO_IgnoreError : NdbOperation::AbortOnError;
    in_flight_++;
    call.transaction_->executeAsynchPrepare(type, completed, &call, option);
}

void Store::look(Call &call) {
    in_flight_--;
    switch (call.stage_) {
    case Call::Stage::First:
        look_at_first(call);
        break;
    case Call::Stage::Rest:
        look_at_rest(call);
        break;
    case Call::Stage::Writing:
        look_at_write(call);
        break;
    case Call::Stage::Ending:
        // Whatever became of it, nothing was changed.
        close(call);
        done(call);
        break;
    }
}

void Store::look_at_first(Call &call) {
    const NdbError error = call.transaction_->getNdbError();
    call.is_found = error.code == 0;
    call.parts_ = 0;
    if (error.code != 0 && error.code != no_row) {
        fault(call, error);
        return;
    }
    if (call.is_found) {
        call.parts_ = row(call, 0).parts;
    }
    if (call.parts_ <= 1) {
        finish_read(call);
    } else if (call.parts_ > parts_max) {
        call.failure = "a value has more rows than it may have";
        close(call);
        done(call);
    } else if (call.work == Work::Lock || call.is_shared_) {
        read_rest(call);
    } else {
        close(call);
        call.is_shared_ = true;
        start(call);
    }
}

void Store::look_at_rest(Call &call) {
    const NdbError error = call.transaction_->getNdbError();
    if (error.code != 0) {
        fault(call, error);
    } else {
        finish_read(call);
    }
}

void Store::finish_read(Call &call) {
    call.value.clear();
    for (std::uint32_t part = 0; part < call.parts_; part++) {
        call.value += row(call, part).bytes();
    }
    if (call.work == Work::Lock) {
        settled_.push_back(&call);
    } else if (call.is_shared_ && call.parts_ <= 1) {
        // The first row was read with a lock, and there turned out to be no others.
        call.stage_ = Call::Stage::Ending;
        execute(call, NdbTransaction::Rollback);
    } else {
        close(call);
        done(call);
    }
}

void Store::look_at_write(Call &call) {
    const NdbError error = call.transaction_->getNdbError();
    const bool is_put = call.work == Work::Put;
    call.is_taken = error.code == 0;
    if (error.code == 0 || (error.code == no_row && call.work == Work::Remove) ||
        (is_put && (error.code == row_exists || error.status == NdbError::TemporaryError))) {
        // What NDB did not take the lab decides anew, on what there is by then.
        close(call);
        done(call);
    } else {
        fault(call, error);
    }
}

// What may pass is tried again, and what may not is an answer.
void Store::fault(Call &call, const NdbError &error) {
    const auto now = Clock::now();
    const bool may_pass = error.status == NdbError::TemporaryError && call.work != Work::Put &&
        now - call.begun_ < retry_for;
    const std::string text = text_of(error);
    close(call);
    if (may_pass) {
        call.again_ = now + retry_after;
        later_.push_back(&call);
    } else {
        call.failure = text;
        done(call);
    }
}

void Store::close(Call &call) {
    if (call.transaction_ != nullptr) {
        ndb_.closeTransaction(call.transaction_);
        call.transaction_ = nullptr;
        open_--;
    }
}

void Store::done(Call &call) {
    give_back(call);
    settled_.push_back(&call);
}

Row &Store::row(Call &call, std::uint32_t part) {
    while (call.rows_.size() <= part) {
        if (spare_.empty()) {
            spare_.push_back(std::make_unique<Row>());
        }
        call.rows_.push_back(std::move(spare_.back()));
        spare_.pop_back();
    }
    return *call.rows_[part];
}

void Store::give_back(Call &call) {
    for (auto &row : call.rows_) {
        spare_.push_back(std::move(row));
    }
    call.rows_.clear();
}

} // namespace lab
