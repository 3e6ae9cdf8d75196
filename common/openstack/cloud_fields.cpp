// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/cloud_fields.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/core.h>

#include "common/openstack/url.hpp"
#include "common/text.hpp"

namespace cohort::openstack {
namespace {

constexpr std::array<const char*, 7> secret_keys = {"password",    "application_credential_secret",
                                                    "token",       "auth_token",
                                                    "passcode",    "client_secret",
                                                    "access_token"};

// Reads one cloud; the first thing that is wrong is kept as the error.
class Fields {
  public:
    Fields(YamlTree cloud, const CloudOrigin& origin) : cloud_(std::move(cloud)), origin_(origin) {}
    Result<CloudConfig> read();

  private:
    void refuse(const std::string& key, const std::string& why) {
        if (error_.message.empty())
            error_ = {Errc::invalid,
                      fmt::format("cloud {} in {}: {} {}", origin_.name, origin_.file, key, why)};
    }
    // The text of a scalar member; empty when it is absent.
    std::string scalar(const YamlTree& map, const std::string& key, const std::string& shown);
    std::string top(const std::string& key) { return scalar(cloud_, key, key); }
    // The first of KEYS that is there; `auth` wins over the cloud's top level, as in openstacksdk.
    std::string auth(std::initializer_list<const char*> keys);
    bool boolean(const std::string& key, bool otherwise);
    std::string path(const std::string& key);

    void choose_region(CloudConfig& config);
    void read_type(CloudConfig& config);
    void read_identity(CloudConfig& config);
    void share_domains(CloudConfig& config);
    void read_url(CloudConfig& config);
    void read_services(CloudConfig& config);
    void read_version(const std::string& key, std::initializer_list<std::string_view> good);
    void read_tls(CloudConfig& config);
    std::string interface_of(std::initializer_list<const char*> keys);

    YamlTree cloud_;
    const CloudOrigin& origin_;
    Error error_;
};

std::string Fields::scalar(const YamlTree& map, const std::string& key, const std::string& shown) {
    const YamlTree* value = map.find(key);
    if (!value) return {};
    if (value->tag == "!vault")
        refuse(shown,
               "is vaulted (!vault): decrypt the file for this program, or move the key "
               "into secure.yaml");
    else if (!value->is_scalar())
        refuse(shown, "must be a plain value");
    return value->scalar;
}

std::string Fields::auth(std::initializer_list<const char*> keys) {
    const YamlTree* auth = cloud_.find("auth");
    for (const char* key : keys)
        if (auth && auth->find(key)) return scalar(*auth, key, fmt::format("auth.{}", key));
    for (const char* key : keys)
        if (cloud_.find(key)) return top(key);
    return {};
}

bool Fields::boolean(const std::string& key, bool otherwise) {
    const std::string word = text::lower(top(key));
    if (word.empty()) return otherwise;
    for (const std::string_view yes : {"true", "yes", "on", "1"})
        if (word == yes) return true;
    for (const std::string_view no : {"false", "no", "off", "0"})
        if (word == no) return false;
    refuse(key, "must be true or false");
    return otherwise;
}

std::string Fields::path(const std::string& key) {
    std::string value = top(key);
    if (!value.starts_with('~')) return value;
    if (origin_.home.empty() || (value.size() > 1 && value[1] != '/')) {
        refuse(key, "begins with ~, and there is no home directory for it: write the whole path");
        return value;
    }
    return origin_.home + value.substr(1);
}

// regions: a list of names or of {name, values}; its values are laid over the cloud.
void Fields::choose_region(CloudConfig& config) {
    config.region = top("region_name");
    const YamlTree* regions = cloud_.find("regions");
    if (!regions) return;
    if (regions->kind != YamlTree::Kind::list || regions->list.empty())
        return refuse("regions", "must be a list");
    std::vector<std::string> names;
    const YamlTree* chosen = nullptr;
    std::string chosen_name;
    for (const auto& region : regions->list) {
        names.push_back(region.is_map() ? scalar(region, "name", "regions.name") : region.scalar);
        const bool first = config.region.empty() && names.size() == 1;
        if (names.back().empty()) return refuse("regions", "has an entry without a name");
        if (chosen || !(first || names.back() == config.region)) continue;
        chosen = &region;
        chosen_name = names.back();
    }
    if (!chosen)
        return refuse("region_name", fmt::format("is '{}', which is not among its regions {}",
                                                 config.region, text::join(names, ", ")));
    config.region = chosen_name;
    if (const YamlTree* values = chosen->find("values")) {
        const YamlTree copy = *values;  // it lies inside what is written to
        lay_over(cloud_, copy);
    }
}

void Fields::read_type(CloudConfig& config) {
    std::string type = top("auth_type");
    if (type.empty()) type = top("auth_plugin");
    if (type.empty()) type = "password";
    if (type == "password" || type == "v3password")
        config.auth_type = AuthType::password;
    else if (type == "v3applicationcredential")
        config.auth_type = AuthType::application_credential;
    else if (type == "token" || type == "v3token")
        config.auth_type = AuthType::token;
    else
        refuse("auth_type",
               fmt::format("is '{}', which this program cannot do: use v3applicationcredential "
                           "(recommended), password or token",
                           text::one_line(type, 60)));
}

void Fields::read_identity(CloudConfig& config) {
    if (const YamlTree* auth_map = cloud_.find("auth"); auth_map && !auth_map->is_map())
        refuse("auth", "must be a mapping");
    config.user_id = auth({"user_id"});
    config.username = auth({"username", "user_name"});
    config.password = auth({"password"});
    config.user_domain_id = auth({"user_domain_id"});
    config.user_domain_name = auth({"user_domain_name"});
    config.project_id = auth({"project_id", "tenant_id"});
    config.project_name = auth({"project_name", "tenant_name"});
    config.project_domain_id = auth({"project_domain_id"});
    config.project_domain_name = auth({"project_domain_name"});
    config.domain_id = auth({"domain_id"});
    config.domain_name = auth({"domain_name"});
    config.system_scope = auth({"system_scope"});
    config.application_credential_id = auth({"application_credential_id"});
    config.application_credential_name = auth({"application_credential_name"});
    config.application_credential_secret = auth({"application_credential_secret"});
    config.token = auth({"token", "auth_token"});
    share_domains(config);
    if (config.auth_type == AuthType::password && config.password.empty() &&
        !config.application_credential_secret.empty())
        refuse("auth_type",
               "is missing: an application credential needs "
               "auth_type: v3applicationcredential");
}

// One domain for user and project, and the default for what has none.
void Fields::share_domains(CloudConfig& config) {
    const std::string default_id = auth({"default_domain_id"});
    const std::string default_name = auth({"default_domain_name", "default_domain"});
    const auto fill = [&](std::string& id, std::string& name) {
        if (id.empty()) id = config.domain_id;
        if (name.empty()) name = config.domain_name;
        if (!id.empty() || !name.empty()) return;
        id = default_id;
        name = default_name;
    };
    const bool project_scope = !config.project_id.empty() || !config.project_name.empty();
    if (project_scope) {
        fill(config.user_domain_id, config.user_domain_name);
        fill(config.project_domain_id, config.project_domain_name);
        config.domain_id.clear();
        config.domain_name.clear();
    }
}

void Fields::read_url(CloudConfig& config) {
    config.auth_url = auth({"auth_url"});
    const std::string place = "{region_name}";
    // One pass: a region's own name may hold anything.
    for (auto at = config.auth_url.find(place); at != std::string::npos;
         at = config.auth_url.find(place, at + config.region.size()))
        config.auth_url.replace(at, place.size(), config.region);
    if (config.auth_url.empty())
        refuse("auth.auth_url", "is missing");
    else if (!parse_url(config.auth_url))
        refuse("auth.auth_url", "must be an http or https URL without a user or password in it");
}

std::string Fields::interface_of(std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
        std::string word = text::lower(top(key));
        if (word.ends_with("url")) word.resize(word.size() - 3);
        if (word.empty()) continue;
        if (word != "public" && word != "internal" && word != "admin")
            refuse(key, "must be public, internal or admin");
        return word;
    }
    return {};
}

void Fields::read_version(const std::string& key, std::initializer_list<std::string_view> good) {
    const std::string version = top(key);
    if (version.empty() || std::find(good.begin(), good.end(), version) != good.end()) return;
    refuse(key, fmt::format("is {}, which this program cannot speak: leave it out",
                            text::one_line(version, 20)));
}

void Fields::read_services(CloudConfig& config) {
    // endpoint_type is the older word; where both are written it wins, as in openstacksdk.
    if (const auto word = interface_of({"endpoint_type", "interface"}); !word.empty())
        config.interface = word;
    for (const std::string service : {"compute", "image"}) {
        const std::string type = service + "_endpoint_type", interface = service + "_interface";
        if (auto word = interface_of({type.c_str(), interface.c_str()}); !word.empty())
            config.service_interface[service] = word;
        if (auto region = top(service + "_region_name"); !region.empty())
            config.service_region[service] = region;
        for (const std::string& key : {service + "_endpoint_override", service + "_endpoint"}) {
            const std::string url = top(key);
            if (url.empty()) continue;
            if (!parse_url(url)) refuse(key, "must be an http or https URL");
            config.endpoint_override.emplace(service, url);
        }
    }
    read_version("identity_api_version", {"3", "v3", "3.0"});
    read_version("compute_api_version", {"2", "2.1", "v2", "v2.1"});
    read_version("image_api_version", {"2", "v2", "2.0"});
}

void Fields::read_tls(CloudConfig& config) {
    config.verify = boolean("verify", true) && !boolean("insecure", false);
    config.cacert = path("cacert");
    config.cert = path("cert");
    config.key = path("key");
    const std::string timeout = top("api_timeout");
    if (timeout.empty()) return;
    char* end = nullptr;
    const double seconds = std::strtod(timeout.c_str(), &end);
    if (*end != '\0' || !(seconds > 0) || seconds > 86400)
        return refuse("api_timeout", "must be a number of seconds");
    config.api_timeout = std::chrono::seconds(std::max(1, static_cast<int>(seconds)));
}

Result<CloudConfig> Fields::read() {
    CloudConfig config;
    config.name = origin_.name;
    config.file = origin_.file;
    choose_region(config);
    read_type(config);
    read_identity(config);
    read_url(config);
    read_services(config);
    read_tls(config);
    if (!error_.message.empty()) return tl::unexpected(error_);
    return config;
}

bool any_secret(const YamlTree& map) {
    return std::any_of(secret_keys.begin(), secret_keys.end(),
                       [&](const char* key) { return map.find(key) != nullptr; });
}

}  // namespace

Result<CloudConfig> read_cloud_fields(YamlTree cloud, const CloudOrigin& origin) {
    return Fields(std::move(cloud), origin).read();
}

bool has_secret_field(const YamlTree& cloud) {
    const YamlTree* auth = cloud.find("auth");
    if (any_secret(cloud) || (auth && any_secret(*auth))) return true;
    const YamlTree* regions = cloud.find("regions");
    if (!regions) return false;
    return std::any_of(regions->list.begin(), regions->list.end(), [](const YamlTree& region) {
        const YamlTree* values = region.find("values");
        return values && has_secret_field(*values);
    });
}

}  // namespace cohort::openstack
