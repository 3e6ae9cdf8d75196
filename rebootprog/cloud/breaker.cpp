// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/breaker.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/json.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::size_t max_bytes = 16384;
constexpr std::size_t reason_bytes = 400;

std::string breaker_path(const std::string& state_dir) {
    return state_dir + "/breaker";
}

std::string text_of(const Breaker& breaker) {
    Json j = json::object();
    json::set(j.get(), "opened", breaker.opened);
    json::set(j.get(), "reason", text::one_line(breaker.reason, reason_bytes));
    json::set(j.get(), "by", breaker.by);
    return json::dump(j.get()) + "\n";
}

}  // namespace

std::optional<Breaker> read_breaker(const std::string& state_dir) {
    const std::string path = breaker_path(state_dir);
    const auto content = read_file(path, max_bytes);
    if (!content && content.error().code == Errc::not_found) return std::nullopt;
    Breaker breaker;
    if (!content) {
        breaker.reason = content.error().message;
        return breaker;
    }
    const auto root = json::parse(*content, path);
    if (!root) {
        breaker.reason = root.error().message;
        return breaker;
    }
    breaker.opened = json::integer(root->get(), "opened").value_or(0);
    breaker.reason = json::string(root->get(), "reason");
    breaker.by = json::string(root->get(), "by");
    return breaker;
}

Result<bool> open_breaker(const std::string& state_dir, const Breaker& breaker) {
    const std::string path = breaker_path(state_dir);
    if (::access(path.c_str(), F_OK) == 0) return false;
    // The content is complete before the name exists, and link() lets one opener win.
    const std::string draft = fmt::format("{}.{}", path, ::gettid());
    if (auto written = write_file(draft, text_of(breaker), 0644); !written)
        return fail("the breaker cannot be opened", written.error());
    const int linked = ::link(draft.c_str(), path.c_str());
    const int error = errno;
    ::unlink(draft.c_str());
    if (linked == 0) return true;
    if (error == EEXIST) return false;
    return fail(Errc::failed,
                fmt::format("the breaker {} cannot be opened: {}", path, std::strerror(error)));
}

Result<bool> close_breaker(const std::string& state_dir) {
    const std::string path = breaker_path(state_dir);
    if (::unlink(path.c_str()) == 0) return true;
    if (errno == ENOENT) return false;
    return fail(Errc::failed,
                fmt::format("the breaker {} cannot be closed: {}", path, std::strerror(errno)));
}

}  // namespace cohort
