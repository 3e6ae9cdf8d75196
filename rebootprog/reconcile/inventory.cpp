// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reconcile/inventory.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/json.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/text.hpp"
#include "rebootprog/cloud/backend_nova.hpp"
#include "rebootprog/site/run_command.hpp"

namespace cohort {
namespace {

constexpr std::size_t max_file_bytes = 16 << 20;
constexpr std::chrono::seconds patience_of_one_call{10};

std::string_view first_label(std::string_view name) {
    return name.substr(0, name.find('.'));
}

bool is_gone(const std::string& state) {
    constexpr std::string_view words[] = {"gone", "deleted", "terminated"};
    return std::ranges::any_of(words, [&](auto word) { return text::iequals(state, word); });
}

// True: the item is there and was added.
Status add_item(std::string_view line, const std::string& place, Inventory& inventory) {
    const auto item = json::parse(line, place);
    if (!item) return tl::unexpected(item.error());
    if (!json_is_object(item->get()))
        return fail(Errc::invalid, fmt::format("{}: is no JSON object", place));
    const std::string name = json::string(item->get(), "name");
    const auto* error = json::get(item->get(), "error");
    if (error && !json_is_null(error))
        return fail(
            Errc::failed,
            fmt::format("{}: {} could not be told: {}", place, name.empty() ? "an item" : name,
                        json_is_string(error) ? json_string_value(error) : "error"));
    if (name.empty()) return fail(Errc::invalid, fmt::format("{}: has no \"name\"", place));
    if (!is_gone(json::string(item->get(), "state"))) inventory.add(name);
    return {};
}

Status add_hosts(std::string_view line, const std::string& place, Inventory& inventory) {
    const auto names = slurm::expand_hosts(line);
    if (!names) return fail(place, names.error());
    for (const auto& name : *names) inventory.add(name);
    return {};
}

Result<Inventory> from_nova(const Site& site) {
    auto nova = open_nova(site.settings(), site.state_dir, patience_of_one_call);
    if (!nova) return tl::unexpected(nova.error());
    auto servers = (*nova)->servers();
    if (!servers) return tl::unexpected(servers.error());
    Inventory inventory;
    for (const auto& server : *servers) {
        // A cell that is down: nova lists its servers without a name.
        if (server.name.empty() || server.status == "UNKNOWN")
            return fail(Errc::unreachable,
                        fmt::format("nova cannot tell what server {} is", server.id));
        if (server.status != "DELETED" && server.status != "SOFT_DELETED")
            inventory.add(server.name);
    }
    return inventory;
}

Result<Inventory> from_file(const Settings& settings) {
    if (settings.inventory_file.empty())
        return fail(Errc::invalid, "Inventory=file needs InventoryFile=PATH in cohort.conf");
    const auto content = read_file(settings.inventory_file, max_file_bytes);
    if (!content) return tl::unexpected(content.error());
    return parse_inventory(*content, settings.inventory_file, true);
}

Result<Inventory> from_command(const Settings& settings) {
    Command command;
    command.words = text::words(settings.inventory_command);
    command.limit = settings.inventory_timeout;
    if (command.words.empty())
        return fail(Errc::invalid,
                    "Inventory=command needs InventoryCommand=PROGRAM ARGUMENT... in cohort.conf");
    const auto done = run_command(command);
    if (!done) return tl::unexpected(done.error());
    if (done->status != 0)
        return fail(Errc::unreachable, fmt::format("{}: {}", command.words[0], done->complaint()));
    return parse_inventory(done->output, command.words[0], false);
}

Result<Inventory> from_source(const Site& site) {
    switch (site.settings().inventory) {
        case InventoryKind::none:
            return fail(Errc::invalid,
                        "Inventory= is not set in cohort.conf: nova, file or command");
        case InventoryKind::nova:
            return from_nova(site);
        case InventoryKind::file:
            return from_file(site.settings());
        case InventoryKind::command:
            return from_command(site.settings());
    }
    return fail(Errc::invalid, "unknown Inventory=");
}

}  // namespace

void Inventory::add(std::string_view name) {
    ++count_;
    names_.insert(text::lower(name));
    names_.insert(text::lower(first_label(name)));
}

bool Inventory::has(std::string_view node) const {
    return names_.contains(text::lower(node)) || names_.contains(text::lower(first_label(node)));
}

Result<Inventory> parse_inventory(std::string_view content, const std::string& source, bool hosts) {
    Inventory inventory;
    std::size_t number = 0;
    while (!content.empty()) {
        const auto end = content.find('\n');
        auto line = text::trim(content.substr(0, end));
        content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
        const std::string place = fmt::format("{}, line {}", source, ++number);
        if (hosts && !line.starts_with('{')) line = text::trim(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        auto added = hosts && !line.starts_with('{') ? add_hosts(line, place, inventory)
                                                     : add_item(line, place, inventory);
        if (!added) return tl::unexpected(added.error());
    }
    return inventory;
}

Result<Inventory> load_inventory(const Site& site) {
    auto inventory = from_source(site);
    if (!inventory) {
        // Whatever is wrong with it, nothing was changed; only a setting is the caller's fault.
        const bool setting = inventory.error().code == Errc::invalid &&
                             inventory.error().message.find("cohort.conf") != std::string::npos;
        return fail(setting ? Errc::invalid : Errc::unreachable,
                    "the inventory failed, nothing is changed: " + inventory.error().message);
    }
    if (inventory->empty())
        return fail(Errc::unreachable,
                    "the inventory is empty, nothing is changed: that all machines are gone is "
                    "less likely than that the source is wrong");
    return inventory;
}

}  // namespace cohort
