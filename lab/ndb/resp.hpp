// The lab's requests and what it is answered, in RESP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

// Words of one request.
using Words = std::vector<std::string_view>;

// Outcome of a look at the bytes that have come.
enum class Parsed { Request, Incomplete, Malformed };

// Takes the request at the start of `bytes`; its words point into them. `length` is what it took.
Parsed parse(std::string_view bytes, Words &words, std::size_t &length);

// The number that a word is; false where it is none.
bool number(std::string_view word, std::uint32_t &value);

// Appends `:value`, which is also how the tag of an answer is written.
void integer(std::string &out, std::uint64_t value);
void simple(std::string &out, std::string_view text);
void error(std::string &out, std::string_view text);
void nil(std::string &out);

// Begins a bulk of so many bytes, which the caller appends, and then `end`.
void bulk_of(std::string &out, std::size_t length);
void end(std::string &out);

} // namespace lab
