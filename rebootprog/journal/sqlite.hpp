// SPDX-License-Identifier: GPL-2.0-or-later
//
// Owners for SQLite: a database, a prepared statement with typed binds and columns, a transaction.
// Not thread-safe: the user holds a mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <sqlite3.h>

#include "common/result.hpp"

namespace cohort::sqlite {

struct Closer {
    void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Closer>;

inline tl::unexpected<Error> failure(sqlite3* db, std::string_view what) {
    const int code = db ? sqlite3_errcode(db) : SQLITE_NOMEM;
    return fail(code == SQLITE_BUSY ? Errc::busy : Errc::failed,
                std::string(what) + ": " + (db ? sqlite3_errmsg(db) : "out of memory"));
}

class Statement {
  public:
    Statement(sqlite3* db, const char* sql) : db_(db) {
        sqlite3_stmt* raw = nullptr;
        if (sqlite3_prepare_v2(db, sql, -1, &raw, nullptr) == SQLITE_OK) statement_.reset(raw);
    }
    Statement& bind(std::int64_t value) {
        if (statement_) sqlite3_bind_int64(statement_.get(), ++bound_, value);
        return *this;
    }
    Statement& bind(const std::string& value) {
        if (statement_)
            sqlite3_bind_text(statement_.get(), ++bound_, value.data(),
                              static_cast<int>(value.size()), SQLITE_TRANSIENT);
        return *this;
    }
    // True: a row is there. False: done.
    Result<bool> step() {
        if (!statement_) return failure(db_, "journal");
        switch (sqlite3_step(statement_.get())) {
            case SQLITE_ROW:
                return true;
            case SQLITE_DONE:
                return false;
            default:
                return failure(db_, "journal");
        }
    }
    Status run() {
        auto stepped = step();
        if (!stepped) return tl::unexpected(stepped.error());
        return {};
    }
    std::int64_t integer(int column) const {
        return sqlite3_column_int64(statement_.get(), column);
    }
    std::string text(int column) const {
        const auto* raw = sqlite3_column_text(statement_.get(), column);
        return raw ? reinterpret_cast<const char*>(raw) : "";
    }

  private:
    sqlite3* db_;
    std::unique_ptr<sqlite3_stmt, Closer> statement_;
    int bound_ = 0;
};

// All or nothing: what is not committed is rolled back at the end of the scope.
class Transaction {
  public:
    explicit Transaction(sqlite3* db) : db_(db) { execute("BEGIN IMMEDIATE"); }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() {
        if (!committed_) execute("ROLLBACK");
    }
    Status commit() {
        committed_ = execute("COMMIT");
        return committed_ ? Status{} : failure(db_, "journal");
    }

  private:
    bool execute(const char* sql) {
        return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
    }
    sqlite3* db_;
    bool committed_ = false;
};

}  // namespace cohort::sqlite
