#include "table.hpp"

#include <cstring>
#include <stdexcept>
#include <vector>

namespace lab {
namespace {

constexpr const char *table_name = "lab";

void create(NdbDictionary::Dictionary &dictionary) {
    NdbDictionary::Table table(table_name);
    NdbDictionary::Column name("name");
    name.setType(NdbDictionary::Column::Varbinary);
    name.setLength(name_max);
    name.setPrimaryKey(true);
    // All rows of a key are in one partition.
    name.setPartitionKey(true);
    table.addColumn(name);
    NdbDictionary::Column part("part");
    part.setType(NdbDictionary::Column::Unsigned);
    part.setPrimaryKey(true);
    part.setPartitionKey(false);
    table.addColumn(part);
    NdbDictionary::Column parts("parts");
    parts.setType(NdbDictionary::Column::Unsigned);
    parts.setNullable(false);
    table.addColumn(parts);
    NdbDictionary::Column value("value");
    value.setType(NdbDictionary::Column::Longvarbinary);
    value.setLength(part_max);
    value.setNullable(false);
    table.addColumn(value);
    if (dictionary.createTable(table) != 0) {
        throw std::runtime_error("creating the table: " + text_of(dictionary.getNdbError()));
    }
}

NdbDictionary::RecordSpecification column(const NdbDictionary::Table &table, const char *name,
                                          std::size_t offset) {
    NdbDictionary::RecordSpecification one;
    one.column = table.getColumn(name);
    one.offset = static_cast<Uint32>(offset);
    return one;
}

const NdbRecord *record(NdbDictionary::Dictionary &dictionary, const NdbDictionary::Table &table,
                        const std::vector<NdbDictionary::RecordSpecification> &columns) {
    const NdbRecord *made =
        dictionary.createRecord(&table, columns.data(), static_cast<Uint32>(columns.size()),
                                sizeof(NdbDictionary::RecordSpecification));
    if (made == nullptr) {
        throw std::runtime_error("the shape of a row: " + text_of(dictionary.getNdbError()));
    }
    return made;
}

} // namespace

void Row::set_key(std::string_view key, std::uint32_t number) {
    name[0] = static_cast<char>(key.size());
    std::memcpy(&name[1], key.data(), key.size());
    part = number;
}

void Row::set_value(std::string_view bytes, std::uint32_t count) {
    value[0] = static_cast<char>(bytes.size() & 0xFF);
    value[1] = static_cast<char>(bytes.size() >> 8);
    std::memcpy(&value[2], bytes.data(), bytes.size());
    parts = count;
}

std::string_view Row::bytes() const {
    const auto low = static_cast<unsigned char>(value[0]);
    const auto high = static_cast<unsigned char>(value[1]);
    return {&value[2], static_cast<std::size_t>(low) | static_cast<std::size_t>(high) << 8};
}

Table::Table(Ndb &ndb) {
    NdbDictionary::Dictionary &dictionary = *ndb.getDictionary();
    table_ = dictionary.getTable(table_name);
    if (table_ == nullptr) {
        create(dictionary);
        table_ = dictionary.getTable(table_name);
    }
    if (table_ == nullptr) {
        throw std::runtime_error("finding the table: " + text_of(dictionary.getNdbError()));
    }
    const auto name = column(*table_, "name", offsetof(Row, name));
    const auto part = column(*table_, "part", offsetof(Row, part));
    const auto parts = column(*table_, "parts", offsetof(Row, parts));
    const auto value = column(*table_, "value", offsetof(Row, value));
    key_ = record(dictionary, *table_, {name, part});
    data_ = record(dictionary, *table_, {parts, value});
    all_ = record(dictionary, *table_, {name, part, parts, value});
}

NdbTransaction *Table::start(Ndb &ndb, const Row &key) const {
    const auto length = 1 + static_cast<unsigned>(static_cast<unsigned char>(key.name[0]));
    const std::array<Ndb::Key_part_ptr, 2> parts{{{key.name.data(), length}, {nullptr, 0}}};
    return ndb.startTransaction(table_, parts.data());
}

std::string text_of(const NdbError &error) {
    return "NDB " + std::to_string(error.code) + " " + (error.message == nullptr ? "" : error.message);
}

} // namespace lab
