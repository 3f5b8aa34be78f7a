#include "gateway.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace lab {
namespace {

constexpr std::uint64_t listening = 0;
constexpr int backlog = 1'024;
constexpr std::size_t read_size = 262'144;
// Longer than the longest request of the lab.
constexpr std::size_t request_max = std::size_t{part_max} * parts_max;

int checked(int result, const char *what) {
    if (result < 0) {
        throw std::system_error(errno, std::generic_category(), what);
    }
    return result;
}

int listen_on(std::uint16_t port) {
    const int number = checked(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "a socket");
    const int yes = 1;
    checked(setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), "a socket's address");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    checked(bind(number, reinterpret_cast<const sockaddr *>(&address), sizeof address), "the port");
    checked(listen(number, backlog), "listening");
    return number;
}

} // namespace

Descriptor::~Descriptor() {
    close(number_);
}

Gateway::Gateway(Store &store, std::uint16_t port, std::string info)
    : store_(store), info_(std::move(info)), listener_(listen_on(port)),
      epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll")) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = listening;
    checked(epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, listener_.number(), &event), "watching the port");
}

void Gateway::serve() {
    std::array<epoll_event, 512> events{};
    while (true) {
        const int count = epoll_wait(epoll_.number(), events.data(), events.size(), store_.idle_ms());
        if (count < 0 && errno != EINTR) {
            throw std::system_error(errno, std::generic_category(), "waiting");
        }
        for (int at = 0; at < count; at++) {
            const epoll_event &event = events[static_cast<std::size_t>(at)];
            const std::uint64_t id = event.data.u64;
            if (id == listening) {
                accept();
                continue;
            }
            const auto found = connections_.find(id);
            if (found == connections_.end()) {
                continue;
            }
            if ((event.events & EPOLLOUT) != 0 && !write(id, *found->second)) {
                continue;
            }
            if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) {
                receive(id, *found->second);
            }
        }
        store_.turn();
        while (Call *call = store_.settled()) {
            settle(call);
        }
        for (const std::uint64_t id : std::exchange(filled_, {})) {
            const auto found = connections_.find(id);
            if (found != connections_.end() && !found->second->is_blocked) {
                write(id, *found->second);
            }
        }
    }
}

void Gateway::accept() {
    while (true) {
        const int number = accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (number < 0) {
            return;
        }
        const int yes = 1;
        setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        const std::uint64_t id = next_id_++;
        auto connection = std::make_unique<Connection>(number);
        watch(EPOLL_CTL_ADD, id, *connection);
        connections_.emplace(id, std::move(connection));
    }
}

void Gateway::watch(int how, std::uint64_t id, const Connection &connection) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (connection.is_blocked) {
        event.events |= EPOLLOUT;
    }
    event.data.u64 = id;
    checked(epoll_ctl(epoll_.number(), how, connection.socket.number(), &event), "watching a connection");
}

void Gateway::receive(std::uint64_t id, Connection &connection) {
    static std::vector<char> room(read_size);
    const ssize_t count = read(connection.socket.number(), room.data(), room.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) {
        drop(id);
        return;
    }
    connection.in.append(room.data(), static_cast<std::size_t>(count));
    std::size_t at = 0;
    while (at < connection.in.size()) {
        std::size_t length = 0;
        const Parsed parsed = parse(std::string_view(connection.in).substr(at), words_, length);
        if (parsed == Parsed::Incomplete && connection.in.size() - at < request_max) {
            break;
        }
        if (parsed != Parsed::Request || !request(id, connection, words_)) {
            drop(id);
            return;
        }
        at += length;
    }
    connection.in.erase(0, at);
}

// False where it is no request of the lab's: nothing of the connection can be trusted then.
bool Gateway::request(std::uint64_t id, Connection &connection, const Words &words) {
    std::uint32_t tag = 0;
    if (words.size() < 2 || !number(words[0], tag)) {
        return false;
    }
    const std::string_view name = words[1];
    if (name == "PUT" || name == "FREE") {
        return finish(connection, tag, words);
    }
    if (name == "GET" && words.size() == 3) {
        begin(id, connection, tag, Work::Get, words);
    } else if (name == "LOCK" && words.size() == 3 && !connection.locked.contains(tag)) {
        begin(id, connection, tag, Work::Lock, words);
    } else if (name == "SET" && words.size() == 4) {
        begin(id, connection, tag, Work::Set, words);
    } else if (name == "DEL" && words.size() == 3) {
        begin(id, connection, tag, Work::Remove, words);
    } else {
        integer(connection.out, tag);
        if (name == "PING") {
            simple(connection.out, "PONG");
        } else if (name == "INFO") {
            bulk_of(connection.out, info_.size());
            connection.out += info_;
            end(connection.out);
        } else {
            error(connection.out, "no such command here");
        }
        filled_.insert(id);
    }
    return true;
}

// Goes on with the transaction that a lock has left open.
bool Gateway::finish(Connection &connection, std::uint32_t tag, const Words &words) {
    const bool writes = words[1] == "PUT";
    const auto found = connection.locked.find(tag);
    if (found == connection.locked.end() || words.size() != (writes ? 3U : 2U)) {
        return false;
    }
    Call *call = found->second;
    connection.locked.erase(found);
    connection.under_way.insert(call);
    if (writes) {
        call->value = words[2];
        store_.put(call);
    } else {
        store_.free(call);
    }
    return true;
}

void Gateway::begin(std::uint64_t id, Connection &connection, std::uint32_t tag, Work work,
                    const Words &words) {
    auto made = std::make_unique<Call>();
    Call *call = made.get();
    call->connection = id;
    call->tag = tag;
    call->work = work;
    call->key = words[2];
    const bool fits = call->key.size() <= name_max && (words.size() < 4 || words[3].size() <= part_max);
    if (!fits) {
        integer(connection.out, tag);
        error(connection.out, "a key or a value is too long");
        filled_.insert(id);
        return;
    }
    if (words.size() > 3) {
        call->value = words[3];
    }
    calls_.emplace(call, std::move(made));
    connection.under_way.insert(call);
    store_.begin(call);
}

void Gateway::settle(Call *call) {
    const bool holds = call->work == Work::Lock && call->failure.empty();
    if (call->is_orphan) {
        if (holds) {
            store_.free(call);
        } else {
            calls_.erase(call);
        }
        return;
    }
    Connection &connection = *connections_.at(call->connection);
    connection.under_way.erase(call);
    answer(connection.out, *call);
    filled_.insert(call->connection);
    if (holds) {
        connection.locked.emplace(call->tag, call);
    } else {
        calls_.erase(call);
    }
}

void Gateway::answer(std::string &out, const Call &call) {
    integer(out, call.tag);
    if (!call.failure.empty()) {
        error(out, call.failure);
        return;
    }
    switch (call.work) {
    case Work::Get:
    case Work::Lock:
        if (call.is_found) {
            bulk_of(out, call.value.size());
            out += call.value;
            end(out);
        } else {
            nil(out);
        }
        break;
    case Work::Set:
    case Work::Free:
        simple(out, "OK");
        break;
    case Work::Put:
    case Work::Remove:
        integer(out, call.is_taken ? 1 : 0);
        break;
    }
}

bool Gateway::write(std::uint64_t id, Connection &connection) {
    while (!connection.out.empty()) {
        const ssize_t count = send(connection.socket.number(), connection.out.data(), connection.out.size(),
                                   MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0 && errno == EAGAIN) {
            break;
        }
        if (count < 0) {
            drop(id);
            return false;
        }
        connection.out.erase(0, static_cast<std::size_t>(count));
    }
    if (connection.is_blocked == connection.out.empty()) {
        connection.is_blocked = !connection.out.empty();
        watch(EPOLL_CTL_MOD, id, connection);
    }
    return true;
}

// Whoever has gone leaves no lock behind.
void Gateway::drop(std::uint64_t id) {
    const auto found = connections_.find(id);
    for (Call *call : found->second->under_way) {
        call->is_orphan = true;
    }
    for (const auto &[tag, call] : found->second->locked) {
        call->is_orphan = true;
        store_.free(call);
    }
    connections_.erase(found);
    filled_.erase(id);
}

} // namespace lab
