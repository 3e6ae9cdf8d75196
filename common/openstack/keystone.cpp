// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/keystone.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "common/openstack/retry.hpp"
#include "common/openstack/url.hpp"
#include "common/text.hpp"

namespace cohort::openstack {
namespace {

tl::unexpected<Error> lacks(const CloudConfig& config, std::string_view keys) {
    return fail(Errc::invalid,
                fmt::format("cloud {} in {}: auth lacks {}", config.name, config.file, keys));
}

// {"id": ...} or {"name": ...}; nothing when both are empty.
Json id_or_name(const std::string& id, const std::string& name) {
    if (id.empty() && name.empty()) return {};
    Json j = json::object();
    if (!id.empty())
        json::set(j.get(), "id", id);
    else
        json::set(j.get(), "name", name);
    return j;
}

// A user or project: the id is enough, a name needs its domain.
Json in_domain(const std::string& id, const std::string& name, const std::string& domain_id,
               const std::string& domain_name) {
    Json j = id_or_name(id, name);
    if (j && id.empty())
        if (Json domain = id_or_name(domain_id, domain_name))
            json::set(j.get(), "domain", std::move(domain));
    return j;
}

bool has_domain(const std::string& id, const std::string& name) {
    return !id.empty() || !name.empty();
}

Result<Json> user_of(const CloudConfig& c) {
    if (c.user_id.empty() && c.username.empty()) return lacks(c, "username or user_id");
    if (c.user_id.empty() && !has_domain(c.user_domain_id, c.user_domain_name))
        return lacks(c, "user_domain_name or user_domain_id (needed beside username)");
    return in_domain(c.user_id, c.username, c.user_domain_id, c.user_domain_name);
}

Result<Json> application_credential(const CloudConfig& c) {
    if (c.application_credential_secret.empty()) return lacks(c, "application_credential_secret");
    Json method = id_or_name(c.application_credential_id, c.application_credential_name);
    if (!method) return lacks(c, "application_credential_id or application_credential_name");
    json::set(method.get(), "secret", c.application_credential_secret);
    if (c.application_credential_id.empty()) {
        auto user = user_of(c);
        if (!user) return tl::unexpected(user.error());
        json::set(method.get(), "user", std::move(*user));
    }
    return method;
}

Result<Json> password(const CloudConfig& c) {
    if (c.password.empty()) return lacks(c, "password");
    auto user = user_of(c);
    if (!user) return user;
    json::set(user->get(), "password", c.password);
    Json method = json::object();
    json::set(method.get(), "user", std::move(*user));
    return method;
}

Result<Json> token_method(const CloudConfig& c) {
    if (c.token.empty()) return lacks(c, "token");
    Json method = json::object();
    json::set(method.get(), "id", c.token);
    return method;
}

// Nothing: an application credential has its own scope, and keystone answers 401 to another.
Result<Json> scope_of(const CloudConfig& c) {
    if (c.auth_type == AuthType::application_credential) return Json();
    Json scope = json::object();
    if (!c.project_id.empty() || !c.project_name.empty()) {
        if (c.project_id.empty() && !has_domain(c.project_domain_id, c.project_domain_name))
            return lacks(c,
                         "project_domain_name or project_domain_id (needed beside project_name)");
        json::set(
            scope.get(), "project",
            in_domain(c.project_id, c.project_name, c.project_domain_id, c.project_domain_name));
        return scope;
    }
    if (c.auth_type == AuthType::token) return Json();  // the token's own scope
    return lacks(c, "project_name or project_id: servers belong to a project");
}

std::string_view method_name(AuthType type) {
    switch (type) {
        case AuthType::application_credential:
            return "application_credential";
        case AuthType::token:
            return "token";
        case AuthType::password:
            break;
    }
    return "password";
}

// The older names under which a catalog may hold the service.
bool is_type(const std::string& type, const std::string& kind) {
    return type == kind || (kind == "compute" && type == "computev2.1");
}

std::string list_of(const std::vector<Endpoint>& catalog, const std::string& kind) {
    std::vector<std::string> lines;
    for (const auto& e : catalog)
        if (is_type(e.type, kind))
            lines.push_back(fmt::format("{} {} in region {}", e.interface, e.url,
                                        e.region.empty() ? "(none)" : e.region));
    if (!lines.empty()) return text::join(lines, ", ");
    std::set<std::string> types;
    for (const auto& e : catalog) types.insert(e.type);
    return types.empty() ? "nothing at all (is the credential scoped to a project?)"
                         : "only " + text::join({types.begin(), types.end()}, ", ");
}

std::vector<Endpoint> endpoints_of(const json_t* service) {
    std::vector<Endpoint> found;
    const json_t* list = json::get(service, "endpoints");
    std::size_t i = 0;
    json_t* e = nullptr;
    json_array_foreach(list, i, e) {
        Endpoint endpoint;
        endpoint.type = json::string(service, "type");
        endpoint.region = json::string(e, "region_id");
        if (endpoint.region.empty()) endpoint.region = json::string(e, "region");
        endpoint.interface = json::string(e, "interface");
        endpoint.url = json::string(e, "url");
        found.push_back(std::move(endpoint));
    }
    return found;
}

}  // namespace

Result<std::string> tokens_url(const std::string& auth_url) {
    if (!parse_url(auth_url))
        return fail(Errc::invalid, "auth_url must be an http or https URL without a password");
    const std::string version = version_in(auth_url);
    if (version.starts_with("v2"))
        return fail(Errc::invalid,
                    fmt::format("auth_url {} names keystone {}, which no longer exists: write the "
                                "URL without a version",
                                auth_url, version));
    return join_url(unversioned(auth_url), "v3/auth/tokens");
}

Result<std::string> sign_in_body(const CloudConfig& config) {
    auto method = config.auth_type == AuthType::application_credential
                      ? application_credential(config)
                  : config.auth_type == AuthType::token ? token_method(config)
                                                        : password(config);
    if (!method) return tl::unexpected(method.error());
    auto scope = scope_of(config);
    if (!scope) return tl::unexpected(scope.error());

    const std::string name(method_name(config.auth_type));
    Json methods = json::array();
    json_array_append_new(methods.get(), json_string(name.c_str()));
    Json identity = json::object();
    json::set(identity.get(), "methods", std::move(methods));
    json::set(identity.get(), name.c_str(), std::move(*method));
    Json auth = json::object();
    json::set(auth.get(), "identity", std::move(identity));
    if (*scope) json::set(auth.get(), "scope", std::move(*scope));
    Json body = json::object();
    json::set(body.get(), "auth", std::move(auth));
    return json::dump(body.get());
}

Result<Token> parse_token(std::string_view answer, std::string id) {
    if (id.empty())
        return fail(Errc::unreachable,
                    "keystone's answer has no X-Subject-Token: is auth_url really keystone's?");
    auto body = json::parse(answer, "keystone's answer");
    if (!body) return fail(Errc::unreachable, body.error().message);
    const json_t* token = json::get(body->get(), "token");
    if (!token) return fail(Errc::unreachable, "keystone's answer holds no token");
    Token out;
    out.id = std::move(id);
    out.expires = parse_iso_time(json::string(token, "expires_at")).value_or(0);
    std::size_t i = 0;
    json_t* item = nullptr;
    json_array_foreach(json::get(token, "catalog"), i, item) {
        auto endpoints = endpoints_of(item);
        out.catalog.insert(out.catalog.end(), endpoints.begin(), endpoints.end());
    }
    json_array_foreach(json::get(token, "roles"), i, item)
        out.roles.push_back(json::string(item, "name"));
    return out;
}

Result<std::string> choose_endpoint(const CloudConfig& config, const std::vector<Endpoint>& catalog,
                                    const std::string& kind) {
    if (const auto it = config.endpoint_override.find(kind); it != config.endpoint_override.end())
        return it->second;
    const auto setting = [&kind](const auto& of_service, const std::string& otherwise) {
        const auto it = of_service.find(kind);
        return it == of_service.end() ? otherwise : it->second;
    };
    const std::string interface = setting(config.service_interface, config.interface);
    const std::string region = setting(config.service_region, config.region);
    std::set<std::string> urls, regions;
    for (const auto& e : catalog) {
        if (!is_type(e.type, kind) || e.interface != interface) continue;
        if (!region.empty() && e.region != region) continue;
        urls.insert(e.url);
        regions.insert(e.region);
    }
    if (urls.size() == 1 && regions.size() == 1) {
        if (parse_url(*urls.begin())) return *urls.begin();
        return fail(
            Errc::unreachable,
            fmt::format("the catalog's {} endpoint is no http(s) URL: set {}_endpoint_override",
                        kind, kind));
    }
    const std::string wish = region.empty()
                                 ? fmt::format("interface {}", interface)
                                 : fmt::format("interface {}, region {}", interface, region);
    if (urls.empty())
        return fail(Errc::unreachable,
                    fmt::format("the catalog has no {} endpoint with {}; it has {}", kind, wish,
                                list_of(catalog, kind)));
    return fail(Errc::unreachable,
                fmt::format("the catalog has several {} endpoints with {}: {}. Set region_name or "
                            "{}_endpoint_override in {}",
                            kind, wish, list_of(catalog, kind), kind, config.file));
}

}  // namespace cohort::openstack
