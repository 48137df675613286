#include "trace/schema.h"

#include "trace/json.h"

namespace snoopie {

const std::vector<TableSchema>& schema() {
    // Never destroyed: the trace is closed after the destructors of static objects have run.
    static const auto& tables = *new std::vector<TableSchema>{
#define SNOOPIE_COLUMN(name, type, unit, role, doc) {#name, #type, unit, role, doc},
#define SNOOPIE_SCHEMA(table, Row, COLUMNS, required, doc) {Table::table, #table, required, doc, {COLUMNS(SNOOPIE_COLUMN)}},
        SNOOPIE_TABLES(SNOOPIE_SCHEMA)
#undef SNOOPIE_SCHEMA
#undef SNOOPIE_COLUMN
    };
    return tables;
}

std::string schema_json() {
    JsonWriter json;
    json.begin_array();
    for (const TableSchema& table : schema()) {
        json.begin_object();
        json.member("name", table.name).member("id", static_cast<uint32_t>(table.id));
        json.member("required", table.required).member("doc", table.doc);
        json.key("columns").begin_array();
        for (const Column& column : table.columns) {
            const std::string type = column.type;
            json.begin_object();
            json.member("name", column.name).member("type", type == "delta8x32" ? "delta8[32]" : type);
            json.member("unit", column.unit).member("role", column.role.name).member("ref", column.role.ref);
            json.member("required", column.role.required).member("doc", column.doc);
            json.end_object();
        }
        json.end_array().end_object();
    }
    return json.end_array().text();
}

}  // namespace snoopie
