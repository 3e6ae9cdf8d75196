// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/desired.hpp"

#include <optional>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/json.hpp"
#include "common/openstack/answers.hpp"
#include "common/text.hpp"
#include "rebootprog/cloud/desired_yaml.hpp"

namespace cohort {
namespace {

constexpr std::size_t max_file_bytes = std::size_t{4} << 20;
constexpr std::size_t max_value_bytes = 255;  // glance's longest name
constexpr int read_attempts = 5;

tl::unexpected<Error> refuse(const std::string& file, const char* key, std::string_view why) {
    return fail(Errc::invalid, fmt::format("{}: {} {}", file, key, why));
}

// Ansible wraps values it must not template again.
Result<RawValue> value_in_json(const json_t* root, const char* key) {
    RawValue raw;
    const json_t* value = json::get(root, key);
    if (json_is_object(value)) {
        if (json::get(value, "__ansible_vault")) raw.vaulted = true;
        if (const json_t* inner = json::get(value, "__ansible_unsafe")) value = inner;
    }
    raw.present = value != nullptr && !json_is_null(value);
    raw.plain = json_is_string(value) || json_is_integer(value);
    if (json_is_string(value)) raw.text = {json_string_value(value), json_string_length(value)};
    if (json_is_integer(value)) raw.text = std::to_string(json_integer_value(value));
    raw.truth = json_is_boolean(value);
    if (raw.truth) raw.text = json_is_true(value) ? "true" : "false";
    raw.list = json_is_array(value);
    std::size_t i = 0;
    json_t* item = nullptr;
    json_array_foreach(const_cast<json_t*>(value), i, item) if (json_is_string(item))
        raw.items.emplace_back(json_string_value(item));
    return raw;
}

Result<std::string> checked(const RawValue& raw, const std::string& file, const char* key) {
    if (raw.vaulted)
        return refuse(file, key, "is vaulted (!vault): write it in the clear, it is no secret");
    if (raw.count > 1) return refuse(file, key, "is there twice");
    if (!raw.present) return std::string();
    if (!raw.plain) return refuse(file, key, "must be a plain value");
    const std::string value(text::trim(raw.text));
    if (value.find("{{") != std::string::npos || value.find("{%") != std::string::npos)
        return refuse(file, key, "is an unrendered template ({{ ... }}): render the file first");
    for (const char c : value)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            return refuse(file, key, "holds a control character");
    if (value.size() > max_value_bytes) return refuse(file, key, "is too long");
    return value;
}

Result<Desired> desired_of(const std::vector<RawValue>& values, const std::string& file,
                           bool uuids) {
    const auto &instance = values[0], &image = values[1];
    auto instance_id = checked(instance, file, "instance_id");
    if (!instance_id) return tl::unexpected(instance_id.error());
    auto image_id = checked(image, file, "image_id");
    if (!image_id) return tl::unexpected(image_id.error());
    if (instance.present && instance_id->empty()) return refuse(file, "instance_id", "is empty");
    if (uuids && !instance_id->empty() && !openstack::is_uuid(*instance_id))
        return refuse(file, "instance_id", "is no UUID (is the file half written?)");
    if (!image.present) return refuse(file, "image_id", "is missing");
    if (image_id->empty()) return refuse(file, "image_id", "is empty");
    return Desired{std::move(*instance_id), std::move(*image_id), file};
}

Result<std::vector<RawValue>> values_in_json(std::string_view text, const std::string& file,
                                             const std::vector<std::string>& keys) {
    const auto root = json::parse(text, file);
    if (!root) return tl::unexpected(root.error());
    if (!json_is_object(root->get()))
        return fail(Errc::invalid, fmt::format("{}: the top must be a mapping", file));
    std::vector<RawValue> values;
    for (const auto& key : keys) values.push_back(*value_in_json(root->get(), key.c_str()));
    return values;
}

Result<std::vector<RawValue>> values_of(std::string_view text, const std::string& file,
                                        const std::vector<std::string>& keys) {
    const auto start = text::trim(text);
    if (start.empty()) return fail(Errc::invalid, fmt::format("{} is empty", file));
    if (file.ends_with(".json")) return values_in_json(text, file, keys);
    // A hostvars dump is often JSON in a .yml; JSON's own parser is stricter about an end that is
    // missing. What begins like JSON and is none may still be YAML's flow style.
    if (start.front() == '{')
        if (auto values = values_in_json(text, file, keys);
            values || values.error().message.find("not valid JSON") == std::string::npos)
            return values;
    return read_yaml_values(text, file, keys);
}

struct Reading {
    std::string text;
    bool stable = false;  // nobody replaced or wrote the file meanwhile
};

bool same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
           a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

Result<Reading> read_once(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat before {
    }, after{}, now{};
    if (!fd || ::fstat(fd.get(), &before) != 0) {
        auto words = read_file(path, max_file_bytes);
        if (!words) return tl::unexpected(words.error());
        return Reading{};
    }
    if (!S_ISREG(before.st_mode))
        return fail(Errc::invalid, fmt::format("{} is not a regular file", path));
    if ((before.st_mode & S_IWOTH) != 0)
        return fail(Errc::invalid,
                    fmt::format("{} can be written by everybody: chmod o-w it", path));
    auto text = read_fd(fd.get(), path, max_file_bytes);
    if (!text) return tl::unexpected(text.error());
    const bool stable = ::fstat(fd.get(), &after) == 0 && same_file(before, after) &&
                        ::stat(path.c_str(), &now) == 0 && same_file(before, now);
    return Reading{std::move(*text), stable};
}

// A file may be replaced while it is read: then the new one is read.
Result<std::string> read_stable(const std::string& path) {
    for (int attempt = 0; attempt < read_attempts; ++attempt) {
        auto reading = read_once(path);
        if (!reading) return tl::unexpected(reading.error());
        if (reading->stable) return std::move(reading->text);
        ::usleep(20000);
    }
    return fail(Errc::busy, fmt::format("{} is being written: try again", path));
}

// The node's file: empty when there is none.
Result<std::string> file_of(const std::string& dir, const std::string& node) {
    if (node.empty() || node.front() == '.' || node.find('/') != std::string::npos ||
        node.find('\0') != std::string::npos)
        return fail(Errc::invalid, fmt::format("'{}' is no node name", text::one_line(node, 80)));
    std::vector<std::string> found;
    for (const char* suffix : {".yml", ".yaml", ".json"}) {
        const std::string path = fmt::format("{}/{}{}", dir, node, suffix);
        struct stat st {};
        if (::lstat(path.c_str(), &st) == 0) found.push_back(path);
    }
    if (found.size() > 1)
        return fail(Errc::invalid, fmt::format("{} are both there: remove all but one",
                                               text::join(found, " and ")));
    return found.empty() ? std::string() : found.front();
}

}  // namespace

Result<Desired> parse_desired(std::string_view text, const std::string& file, bool uuids) {
    auto values = values_of(text, file, {"instance_id", "image_id"});
    if (!values) return tl::unexpected(values.error());
    return desired_of(*values, file, uuids);
}

Result<Desired> read_desired(const Settings& settings, const std::string& node) {
    auto file = file_of(settings.desired_dir, node);
    if (!file) return tl::unexpected(file.error());
    const bool own = !file->empty();
    if (!own) *file = settings.server_template;
    if (file->empty())
        return fail(Errc::not_found,
                    fmt::format("there is no {}/{}.yml, .yaml or .json: write instance_id and "
                                "image_id into one of them",
                                settings.desired_dir, node));
    auto text = read_stable(*file);
    if (!text) return tl::unexpected(text.error());
    auto desired = parse_desired(*text, *file, settings.backend == BackendKind::nova);
    // A template is no machine's.
    if (desired && !own) desired->instance_id.clear();
    return desired;
}

Result<std::vector<DesiredValue>> read_desired_values(const Settings& settings,
                                                      const std::string& node,
                                                      const std::vector<std::string>& keys) {
    auto own = file_of(settings.desired_dir, node);
    if (!own) return tl::unexpected(own.error());
    std::vector<DesiredValue> found(keys.size());
    for (const auto& file : {settings.server_template, *own}) {
        if (file.empty()) continue;
        const auto text = read_stable(file);
        if (!text) return tl::unexpected(text.error());
        auto values = values_of(*text, file, keys);
        if (!values) return tl::unexpected(values.error());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            auto& value = (*values)[i];
            if (found[i].file.empty()) found[i].file = file;
            if (!value.present) continue;
            if (value.list || value.truth) value.plain = true;
            auto text_of = checked(value, file, keys[i].c_str());
            if (!text_of) return tl::unexpected(text_of.error());
            found[i] = {std::move(*text_of), std::move(value.items), file};
        }
    }
    return found;
}

}  // namespace cohort
