#include "resp.hpp"

#include <algorithm>
#include <charconv>

namespace lab {
namespace {

// A line of the protocol may be this long.
constexpr std::size_t line_max = 32;
constexpr std::uint32_t words_max = 64;

// The number behind `kind` at `at`, which then is behind its line.
Parsed counted(std::string_view bytes, std::size_t &at, char kind, std::uint32_t &value) {
    const std::size_t until = bytes.find("\r\n", at);
    if (until == std::string_view::npos) {
        return bytes.size() - at > line_max ? Parsed::Malformed : Parsed::Incomplete;
    }
    if (bytes[at] != kind || !number(bytes.substr(at + 1, until - at - 1), value)) {
        return Parsed::Malformed;
    }
    at = until + 2;
    return Parsed::Request;
}

} // namespace

bool number(std::string_view word, std::uint32_t &value) {
    const char *last = word.data() + word.size();
    const auto [until, fault] = std::from_chars(word.data(), last, value);
    return !word.empty() && fault == std::errc() && until == last;
}

Parsed parse(std::string_view bytes, Words &words, std::size_t &length) {
    words.clear();
    std::size_t at = 0;
    std::uint32_t count = 0;
    Parsed parsed = counted(bytes, at, '*', count);
    if (parsed != Parsed::Request) {
        return parsed;
    }
    if (count == 0 || count > words_max) {
        return Parsed::Malformed;
    }
    for (; count > 0; count--) {
        std::uint32_t size = 0;
        parsed = counted(bytes, at, '$', size);
        if (parsed != Parsed::Request) {
            return parsed;
        }
        if (bytes.size() - at < std::size_t{size} + 2) {
            return Parsed::Incomplete;
        }
        words.push_back(bytes.substr(at, size));
        at += std::size_t{size} + 2;
    }
    length = at;
    return Parsed::Request;
}

void integer(std::string &out, std::uint64_t value) {
    out += ':';
    out += std::to_string(value);
    end(out);
}

void simple(std::string &out, std::string_view text) {
    out += '+';
    out += text;
    end(out);
}

void error(std::string &out, std::string_view text) {
    const std::size_t from = out.size() + 1;
    out += "-ERR ";
    out += text;
    // An error is one line.
    std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(from), out.end(),
                    [](char byte) { return byte == '\r' || byte == '\n'; }, ' ');
    end(out);
}

void nil(std::string &out) {
    out += "$-1";
    end(out);
}

void bulk_of(std::string &out, std::size_t length) {
    out += '$';
    out += std::to_string(length);
    end(out);
}

void end(std::string &out) {
    out += "\r\n";
}

} // namespace lab
