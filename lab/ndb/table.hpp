// The one table: a value is a row, and a long one is several rows of the same key.
#pragma once

#include <NdbApi.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lab {

constexpr std::size_t name_max = 200;
// A row of NDB has 30,000 bytes at most.
constexpr std::size_t part_max = 28'000;
constexpr std::uint32_t parts_max = 1'000;

// A row as the client library reads and writes it: lengths stand in front of what varies.
struct Row {
    std::uint32_t part;
    // Rows that the value has; the first one says it.
    std::uint32_t parts;
    std::array<char, 1 + name_max> name;
    std::array<char, 2 + part_max> value;

    void set_key(std::string_view key, std::uint32_t number);
    void set_value(std::string_view bytes, std::uint32_t count);
    std::string_view bytes() const;
};

// What a column of a row's key and of a row is, for the client library.
class Table {
public:
    // Makes the table where it is not there yet. Throws where that fails.
    explicit Table(Ndb &ndb);

    // A transaction whose coordinator is where the rows of this key are.
    NdbTransaction *start(Ndb &ndb, const Row &key) const;

    const NdbRecord *key() const { return key_; }
    const NdbRecord *data() const { return data_; }
    const NdbRecord *all() const { return all_; }

private:
    const NdbDictionary::Table *table_;
    const NdbRecord *key_;
    const NdbRecord *data_;
    const NdbRecord *all_;
};

// An error of the client library as text.
std::string text_of(const NdbError &error);

} // namespace lab
