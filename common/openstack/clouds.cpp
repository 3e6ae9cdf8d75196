// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/clouds.hpp"

#include <filesystem>

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/openstack/cloud_fields.hpp"
#include "common/text.hpp"

namespace cohort::openstack {
namespace {

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;

struct Source {
    std::string text;
    bool world_readable = false;
};

Result<Source> read_source(const std::string& path) {
    // Links are followed on purpose: configuration managers use them, and the target is judged.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) != 0) {
        auto why = read_file(path, 0);  // words for errno
        return fail(why ? Errc::failed : why.error().code,
                    why ? path + " cannot be read" : why.error().message);
    }
    if (!S_ISREG(st.st_mode))
        return fail(Errc::invalid, fmt::format("{} is not a regular file", path));
    const uid_t me = ::geteuid();
    if (me != 0 && st.st_uid != 0 && st.st_uid != me)
        return fail(Errc::denied, fmt::format("{} belongs to uid {}: it must belong to root or to "
                                              "the user that runs this program",
                                              path, st.st_uid));
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return fail(Errc::denied,
                    fmt::format("{} can be written by others than its owner: chmod go-w it", path));
    auto text = read_fd(fd.get(), path, max_file_bytes);
    if (!text) return tl::unexpected(text.error());
    return Source{std::move(*text), (st.st_mode & S_IROTH) != 0};
}

// NAME.yaml, .yml or .json beside CLOUDS_PATH; an absent one is empty.
Result<Source> read_beside(const std::string& clouds_path, const std::string& name,
                           std::string& found) {
    const auto dir = std::filesystem::path(clouds_path).parent_path();
    for (const char* suffix : {".yaml", ".yml", ".json"}) {
        const std::string path = (dir / (name + suffix)).string();
        if (path == clouds_path) continue;
        auto source = read_source(path);
        if (!source && source.error().code == Errc::not_found) continue;
        found = path;
        return source;
    }
    return Source{};
}

// Does the cloud NAME, or a vendor's profile, have a secret in TEXT?
bool holds_secret(const std::string& text, const std::string& name) {
    auto top = parse_yaml(text, "");
    if (!top || !top->is_map()) return false;
    normalise_keys(*top);
    for (const auto& [section, clouds] : top->map)
        for (const auto& [key, cloud] : clouds.map)
            if ((section == "public_clouds" || key == name || text::iequals(key, name)) &&
                has_secret_field(cloud))
                return true;
    return false;
}

std::string home_directory() {
    const passwd* entry = ::getpwuid(::geteuid());
    return entry && entry->pw_dir ? entry->pw_dir : "";
}

// The clouds of the merged files; the top must be a map with a map `clouds`.
Result<YamlTree> merged_clouds(const CloudTexts& texts) {
    auto top = parse_yaml(texts.clouds, texts.file);
    if (!top) return top;
    if (top->kind == YamlTree::Kind::null && texts.secure.empty())
        return fail(Errc::invalid, fmt::format("{} is empty", texts.file));
    auto secure = parse_yaml(texts.secure, texts.secure_file);
    if (!secure) return secure;
    const std::pair<const std::string*, const YamlTree*> tops[] = {{&texts.file, &*top},
                                                                   {&texts.secure_file, &*secure}};
    for (const auto& [file, tree] : tops)
        if (tree->kind != YamlTree::Kind::null && !tree->is_map())
            return fail(Errc::invalid, fmt::format("{}: the top must be a mapping", *file));
    lay_over(*top, *secure);
    if (const YamlTree* clouds = top->find("clouds")) {
        if (clouds->is_map()) return *clouds;
        return fail(Errc::invalid, fmt::format("{}: clouds must be a mapping", texts.file));
    }
    for (const auto& [key, value] : top->map)
        if (!text::nearest(key, {"clouds"}).empty())
            return fail(Errc::invalid, fmt::format("{} has the key '{}': did you mean 'clouds'?",
                                                   texts.file, key));
    return fail(Errc::invalid, fmt::format("{} has no key 'clouds'", texts.file));
}

Result<std::string> chosen_name(const YamlTree& clouds, const std::string& name,
                                const std::string& file) {
    std::vector<std::string> names;
    for (const auto& [key, value] : clouds.map) names.push_back(key);
    if (names.empty()) return fail(Errc::invalid, fmt::format("{}: clouds is empty", file));
    if (name.empty() && names.size() == 1) return names.front();
    if (name.empty())
        return fail(Errc::invalid, fmt::format("{} has the clouds {}: name one with Cloud=", file,
                                               text::join(names, ", ")));
    if (clouds.map.contains(name)) return name;
    return fail(Errc::invalid,
                fmt::format("{} has no cloud '{}', only {}", file, name, text::join(names, ", ")));
}

// What `profile:` (or, of old, `cloud:`) names.
Result<YamlTree> profile_of(const YamlTree& cloud, const CloudTexts& texts,
                            const std::string& name) {
    const YamlTree* wish = cloud.find("profile");
    if (!wish) wish = cloud.find("cloud");
    if (!wish) return YamlTree{};
    const std::string profile = wish->scalar;
    auto vendors = parse_yaml(texts.vendors, texts.vendors_file);
    if (!vendors) return vendors;
    const YamlTree* all = vendors->find("public-clouds");
    const YamlTree* found = all ? all->find(profile) : nullptr;
    if (found && found->is_map()) return *found;
    return fail(Errc::invalid,
                fmt::format("cloud {} in {}: profile '{}' is not known here (openstacksdk's vendor "
                            "list is not part of this program): put it into clouds-public.yaml "
                            "beside that file, or write auth_url and region_name out",
                            name, texts.file, profile));
}

}  // namespace

Result<CloudConfig> parse_cloud(const CloudTexts& texts, const std::string& name) {
    auto clouds = merged_clouds(texts);
    if (!clouds) return tl::unexpected(clouds.error());
    const auto chosen = chosen_name(*clouds, name, texts.file);
    if (!chosen) return tl::unexpected(chosen.error());
    YamlTree cloud = clouds->map[*chosen];
    if (!cloud.is_map())
        return fail(Errc::invalid,
                    fmt::format("{}: cloud {} must be a mapping", texts.file, *chosen));
    auto merged = profile_of(cloud, texts, *chosen);
    if (!merged) return tl::unexpected(merged.error());
    normalise_keys(*merged);
    normalise_keys(cloud);
    lay_over(*merged, cloud);
    return read_cloud_fields(*merged, {*chosen, texts.file, texts.home});
}

Result<CloudConfig> load_cloud(const std::string& path, const std::string& name) {
    CloudTexts texts;
    texts.file = path;
    texts.home = home_directory();
    auto clouds = read_source(path);
    if (!clouds) return fail("the clouds file", clouds.error());
    auto secure = read_beside(path, "secure", texts.secure_file);
    if (!secure) return fail("the clouds file", secure.error());
    auto vendors = read_beside(path, "clouds-public", texts.vendors_file);
    if (!vendors) return fail("the clouds file", vendors.error());
    texts.clouds = clouds->text;
    texts.secure = secure->text;
    texts.vendors = vendors->text;
    auto config = parse_cloud(texts, name);
    if (!config) return config;
    // Which of the files the secret is in does not matter: it must not be open.
    for (const auto& [source, file] :
         {std::pair{&*clouds, &texts.file}, std::pair{&*secure, &texts.secure_file},
          std::pair{&*vendors, &texts.vendors_file}})
        if (source->world_readable && holds_secret(source->text, config->name))
            return fail(Errc::denied, fmt::format("{} holds a secret of cloud {} and everybody can "
                                                  "read it: chmod o-r it",
                                                  *file, config->name));
    return config;
}

}  // namespace cohort::openstack
