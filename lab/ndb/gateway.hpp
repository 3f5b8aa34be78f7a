// The lab's connections: requests come in RESP with a tag in front, and answers carry that tag, in the
// order in which NDB has them.
#pragma once

#include "resp.hpp"
#include "store.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace lab {

// A descriptor that is closed with its owner.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;
    ~Descriptor();
    int number() const { return number_; }

private:
    int number_;
};

class Gateway {
public:
    // Listens on a port of the loopback; `info` answers INFO.
    Gateway(Store &store, std::uint16_t port, std::string info);

    // Serves for ever.
    [[noreturn]] void serve();

private:
    struct Connection {
        explicit Connection(int number) : socket(number) {}
        Descriptor socket;
        std::string in;
        std::string out;
        bool is_blocked = false;
        // Calls that hold a lock for what the lab decides, by their tag.
        std::unordered_map<std::uint32_t, Call *> locked;
        // Calls that NDB has not answered.
        std::unordered_set<Call *> under_way;
    };

    void accept();
    void receive(std::uint64_t id, Connection &connection);
    bool request(std::uint64_t id, Connection &connection, const Words &words);
    bool finish(Connection &connection, std::uint32_t tag, const Words &words);
    void begin(std::uint64_t id, Connection &connection, std::uint32_t tag, Work work, const Words &words);
    void settle(Call *call);
    static void answer(std::string &out, const Call &call);
    // False where the connection has gone.
    bool write(std::uint64_t id, Connection &connection);
    void drop(std::uint64_t id);
    void watch(int how, std::uint64_t id, const Connection &connection);

    Store &store_;
    std::string info_;
    Descriptor listener_;
    Descriptor epoll_;
    std::uint64_t next_id_ = 1;
    std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
    // Connections that have something to be written.
    std::unordered_set<std::uint64_t> filled_;
    Words words_;
    std::unordered_map<const Call *, std::unique_ptr<Call>> calls_;
};

} // namespace lab
