// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/token_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/sha256.hpp"

namespace cohort::openstack {
namespace {

constexpr std::size_t max_cache_bytes = std::size_t{1} << 20;

// Tells credentials apart without naming one.
std::string fingerprint(const CloudConfig& config) {
    const auto body = sign_in_body(config);
    return body ? sha256_hex(config.auth_url + "\n" + *body) : std::string();
}

Json catalog_of(const Token& token) {
    Json list = json::array();
    for (const auto& e : token.catalog) {
        Json one = json::object();
        json::set(one.get(), "type", e.type);
        json::set(one.get(), "region", e.region);
        json::set(one.get(), "interface", e.interface);
        json::set(one.get(), "url", e.url);
        json_array_append_new(list.get(), one.release());
    }
    return list;
}

std::string read_own_file(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return {};
    if (st.st_uid != ::geteuid() || (st.st_mode & 077) != 0) return {};
    return read_fd(fd.get(), path, max_cache_bytes).value_or("");
}

}  // namespace

std::shared_ptr<const Token> read_token_cache(const std::string& path, const CloudConfig& config) {
    const auto root = json::parse(read_own_file(path), path);
    if (!root) return nullptr;
    const json_t* j = root->get();
    const std::string mark = fingerprint(config);
    if (mark.empty() || json::string(j, "credential") != mark) return nullptr;
    Token token;
    token.id = json::string(j, "token");
    token.expires = json::integer(j, "expires").value_or(0);
    if (token.id.empty() || token.expires == 0) return nullptr;
    std::size_t i = 0;
    json_t* e = nullptr;
    json_array_foreach(json::get(j, "catalog"), i, e)
        token.catalog.push_back({json::string(e, "type"), json::string(e, "region"),
                                 json::string(e, "interface"), json::string(e, "url")});
    return std::make_shared<const Token>(std::move(token));
}

Status write_token_cache(const std::string& path, const CloudConfig& config, const Token& token) {
    Json root = json::object();
    json::set(root.get(), "credential", fingerprint(config));
    json::set(root.get(), "token", token.id);
    json::set(root.get(), "expires", token.expires);
    json::set(root.get(), "catalog", catalog_of(token));
    return write_file(path, json::dump(root.get()), 0600);
}

}  // namespace cohort::openstack
