// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>

#include "common/file.hpp"
#include "common/text.hpp"

#include <fmt/core.h>

namespace cohort {
namespace {

constexpr std::size_t max_configuration_bytes = 1 << 20;

// A setter returns what was wrong with the value ("expects yes or no"), or nothing.
using Complaint = std::optional<std::string>;
using Setter = std::function<Complaint(Settings&, const std::string&)>;

struct Key {
    std::string_view name;
    bool per_cohort;
    Setter set;
};

Setter text_key(std::string Settings::*member) {
    return [member](Settings& s, const std::string& v) -> Complaint {
        s.*member = v;
        return {};
    };
}

Setter path_key(std::string Settings::*member) {
    return [member](Settings& s, const std::string& v) -> Complaint {
        if (v.empty() || v[0] != '/') return "expects an absolute path";
        s.*member = v;
        return {};
    };
}

Setter list_key(std::vector<std::string> Settings::*member) {
    return [member](Settings& s, const std::string& v) -> Complaint {
        s.*member = text::split(v, ',');
        return {};
    };
}

Setter number_key(std::uint32_t Settings::*member, std::uint32_t least, std::uint32_t most) {
    return [=](Settings& s, const std::string& v) -> Complaint {
        const auto n = text::to_number(v);
        if (!n || *n < least || *n > most)
            return fmt::format("expects a whole number from {} to {}", least, most);
        s.*member = static_cast<std::uint32_t>(*n);
        return {};
    };
}

Setter amount_key(Amount Settings::*member) {
    return [member](Settings& s, const std::string& v) -> Complaint {
        const bool percent = !v.empty() && v.back() == '%';
        const auto n = text::to_number(text::trim(percent ? v.substr(0, v.size() - 1) : v));
        if (!n || *n > 1000000 || (percent && *n > 100))
            return "expects a number of nodes, or 0% to 100%";
        s.*member = Amount{static_cast<std::uint32_t>(*n), percent};
        return {};
    };
}

template <class D>
Setter duration_key(D Settings::*member, std::chrono::milliseconds least) {
    return [=](Settings& s, const std::string& v) -> Complaint {
        const auto d = text::to_duration(v);
        if (!d || *d < least)
            return fmt::format("expects a time of at least {} ms, such as 30s or 30min",
                               least.count());
        s.*member = std::chrono::duration_cast<D>(*d);
        return {};
    };
}

Setter yes_no_key(bool Settings::*member, std::string_view yes = "yes",
                  std::string_view no = "no") {
    return [=](Settings& s, const std::string& v) -> Complaint {
        if (text::iequals(v, yes)) {
            s.*member = true;
        } else if (text::iequals(v, no)) {
            s.*member = false;
        } else {
            return fmt::format("expects {} or {}", yes, no);
        }
        return {};
    };
}

template <class E>
Setter choice_key(E Settings::*member, std::vector<std::pair<std::string_view, E>> choices) {
    return [member, choices](Settings& s, const std::string& v) -> Complaint {
        std::vector<std::string> names;
        for (const auto& [name, value] : choices) {
            if (text::iequals(v, name)) {
                s.*member = value;
                return {};
            }
            names.emplace_back(name);
        }
        return "expects one of " + text::join(names, ", ");
    };
}

// Words between blanks: a program with its absolute path, and what it is to be given.
Complaint set_backend_command(Settings& s, const std::string& v) {
    const bool quoted = v.size() >= 2 && v.front() == '"' && v.back() == '"';
    const std::string value = quoted ? v.substr(1, v.size() - 2) : v;
    if (value.empty() || value[0] != '/') return "expects a program with its absolute path";
    for (std::size_t at = value.find('{'); at != std::string::npos; at = value.find('{', at + 1)) {
        const std::string name = value.substr(at, value.find('}', at) - at + 1);
        if (name != "{verb}" && name != "{node}" && name != "{server}" && name != "{image}" &&
            name != "{request}")
            return fmt::format(
                "{} is none of {{verb}}, {{node}}, {{server}}, {{image}}, {{request}}", name);
    }
    s.backend_command = value;
    return {};
}

// Why BACKEND cannot work as it is set.
Complaint check_backend(const Settings& s) {
    const auto lacks = [&](std::string_view place) {
        return s.backend_command.find(place) == std::string::npos;
    };
    if (s.backend == BackendKind::exec && (lacks("{verb}") || lacks("{node}")))
        return "Backend=exec needs BackendCommand=PROGRAM with {verb} and {node} among its words";
    if (s.backend == BackendKind::reboot && lacks("{node}"))
        return "Backend=reboot needs BackendCommand=PROGRAM with {node} among its words";
    return {};
}

// As text::words(), but what stands between double quotes is not split.
std::vector<std::string> words_with_quotes(std::string_view line) {
    std::vector<std::string> words;
    bool quoted = false, open = false;
    for (const char c : line) {
        if (c == '"') quoted = !quoted;
        if (!quoted && (c == ' ' || c == '\t' || c == '\r')) {
            open = false;
            continue;
        }
        if (!open) words.emplace_back();
        open = true;
        words.back() += c;
    }
    return words;
}

Complaint set_rebuild_priority(Settings& s, const std::string& v) {
    const auto n = text::to_number(v);
    if (!text::iequals(v, "highest") && (!n || *n < 1 || *n > 0xffff0000))
        return "expects highest, or a number from 1 to 4294901760";
    s.rebuild_priority = n ? static_cast<std::uint32_t>(*n) : 0xffff0000;
    return {};
}

const std::vector<Key>& keys() {
    using S = Settings;
    using std::chrono::milliseconds;
    static const std::vector<Key> table = {
        {"StateDir", false, path_key(&S::state_dir)},
        {"DesiredDir", false, path_key(&S::desired_dir)},
        {"CloudsFile", false, path_key(&S::clouds_file)},
        {"Cloud", false, text_key(&S::cloud)},
        {"Backend", true,
         choice_key<BackendKind>(&S::backend, {{"nova", BackendKind::nova},
                                               {"reboot", BackendKind::reboot},
                                               {"exec", BackendKind::exec}})},
        {"BackendCommand", true, set_backend_command},
        {"ServerTemplate", true, path_key(&S::server_template)},
        {"BackendTime", true, duration_key(&S::backend_time, milliseconds(1000))},
        {"RebuildUsers", false, list_key(&S::rebuild_users)},
        {"RebuildJobUser", false, text_key(&S::rebuild_job_user)},
        {"RebuildPriority", false, set_rebuild_priority},
        {"RebuildQos", false, text_key(&S::rebuild_qos)},
        {"RebuildPartition", false, text_key(&S::rebuild_partition)},
        {"RebuildTime", false, duration_key(&S::rebuild_time, milliseconds(60000))},
        {"RebuildLicense", false, text_key(&S::rebuild_license)},
        {"MaxPendingRebuilds", false, number_key(&S::max_pending_rebuilds, 1, 100000)},
        {"MaxConcurrent", false, number_key(&S::max_concurrent, 1, 10000)},
        {"MaxUnavailable", true, amount_key(&S::max_unavailable)},
        {"MinAvailable", true, amount_key(&S::min_available)},
        {"FailureBudget", true, number_key(&S::failure_budget, 0, 100000)},
        {"SoftRebootTime", false, duration_key(&S::soft_reboot_time, milliseconds(0))},
        {"VerifyWait", false, duration_key(&S::verify_wait, milliseconds(1000))},
        {"StampFile", true, path_key(&S::stamp_file)},
        {"StampProperty", true, text_key(&S::stamp_property)},
        {"AcceptWeakProof", true, yes_no_key(&S::accept_weak_proof)},
        {"HealthCheck", true, path_key(&S::health_check)},
        {"MixedRevision", true,
         choice_key<MixedRevision>(&S::mixed_revision, {{"confine", MixedRevision::confine},
                                                        {"block", MixedRevision::block},
                                                        {"hold", MixedRevision::hold},
                                                        {"off", MixedRevision::off}})},
        {"GuardSingleNode", true, yes_no_key(&S::guard_single_node)},
        {"GuardAdmins", true, yes_no_key(&S::guard_admins)},
        {"StaleAfter", false, duration_key(&S::stale_after, milliseconds(1000))},
        {"Refresh", false, duration_key(&S::refresh, milliseconds(100))},
        {"SweepRate", false, number_key(&S::sweep_rate, 1, 100000)},
        {"GateNoRequeue", true, yes_no_key(&S::gate_no_requeue_allow, "allow", "cancel")},
        {"AllowVolumeRebuild", true, yes_no_key(&S::allow_volume_rebuild)},
        {"Unlock", true, yes_no_key(&S::unlock)},
        {"CacheToken", false, yes_no_key(&S::cache_token)},
        {"DeniedAccounts", false, list_key(&S::denied_accounts)},
        {"Inventory", false,
         choice_key<InventoryKind>(&S::inventory, {{"none", InventoryKind::none},
                                                   {"nova", InventoryKind::nova},
                                                   {"file", InventoryKind::file},
                                                   {"command", InventoryKind::command}})},
        {"InventoryFile", false, path_key(&S::inventory_file)},
        {"InventoryCommand", false, path_key(&S::inventory_command)},
        {"InventoryTimeout", false, duration_key(&S::inventory_timeout, milliseconds(1000))},
        {"ReconcileAge", false, duration_key(&S::reconcile_age, milliseconds(0))},
        {"BarrierTest", false, path_key(&S::barrier_test)},
        {"ReconcileGrace", false, duration_key(&S::reconcile_grace, milliseconds(0))},
    };
    return table;
}

// Reads one file; knows the place for error messages.
class Parser {
  public:
    explicit Parser(std::string_view name) : name_(name) {}

    Status line(std::string_view line) {
        ++number_;
        const std::string_view content = text::trim(line.substr(0, line.find('#')));
        if (content.empty()) return {};
        const auto equals = content.find('=');
        if (equals == std::string_view::npos)
            return complain(fmt::format("'{}' is not of the form Key=Value", content));
        const std::string key(text::trim(content.substr(0, equals)));
        if (text::iequals(key, "Cohort")) return cohort_line(content);
        if (!seen_.insert(text::lower(key)).second)
            return complain(fmt::format("{} is set twice: keep one of the lines", key));
        return assign(configuration_.site, key, std::string(text::trim(content.substr(equals + 1))),
                      false);
    }

    // A Cohort= line may stand before a site-wide key that it inherits: merge at the end.
    Result<Configuration> finish() {
        for (const auto& [number, words] : cohort_lines_) {
            number_ = number;
            if (auto merged = merge(words); !merged) return tl::unexpected(merged.error());
        }
        if (auto complaint = check_backend(configuration_.site))
            return fail(Errc::invalid, fmt::format("{}: {}", name_, *complaint));
        return std::move(configuration_);
    }

  private:
    tl::unexpected<Error> complain(const std::string& what) const {
        return fail(Errc::invalid, fmt::format("{}, line {}: {}", name_, number_, what));
    }

    Status cohort_line(std::string_view content) {
        cohort_lines_.emplace_back(number_, words_with_quotes(content));
        return {};
    }

    Status merge(const std::vector<std::string>& words) {
        CohortSettings cohort;
        cohort.settings = configuration_.site;
        for (const auto& word : words) {
            const auto equals = word.find('=');
            if (equals == std::string::npos)
                return complain(
                    fmt::format("'{}' is not of the form Key=Value (no spaces around '='; a value "
                                "with spaces in double quotes)",
                                word));
            const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
            if (text::iequals(key, "Cohort")) {
                cohort.name = value;
            } else if (text::iequals(key, "Nodes")) {
                cohort.nodes = value;
            } else if (auto set = assign(cohort.settings, key, value, true); !set) {
                return set;
            }
        }
        if (cohort.name.empty()) return complain("Cohort= needs a name");
        if (cohort.nodes.empty())
            return complain(fmt::format("Cohort={} needs Nodes=LIST", cohort.name));
        if (auto complaint = check_backend(cohort.settings))
            return complain(fmt::format("Cohort={}: {}", cohort.name, *complaint));
        for (const auto& other : configuration_.cohorts)
            if (other.name == cohort.name)
                return complain(fmt::format("Cohort={} is defined twice", cohort.name));
        configuration_.cohorts.push_back(std::move(cohort));
        return {};
    }

    Status assign(Settings& settings, const std::string& key, const std::string& value,
                  bool in_cohort) {
        std::vector<std::string_view> names;
        for (const auto& known : keys()) {
            if (text::iequals(known.name, key)) {
                if (in_cohort && !known.per_cohort)
                    return complain(fmt::format(
                        "{} holds for the whole site: set it on a line of its own", known.name));
                if (auto complaint = known.set(settings, value))
                    return complain(fmt::format("{}={}: {}", known.name, value, *complaint));
                return {};
            }
            names.push_back(known.name);
        }
        const auto near = text::nearest(key, names);
        return complain(near.empty() ? fmt::format("unknown key {}", key)
                                     : fmt::format("unknown key {}: did you mean {}?", key, near));
    }

    std::string name_;
    std::size_t number_ = 0;
    std::set<std::string> seen_;
    std::vector<std::pair<std::size_t, std::vector<std::string>>> cohort_lines_;
    Configuration configuration_;
};

}  // namespace

std::uint32_t Amount::of(std::uint32_t total) const {
    if (!percent) return value;
    if (value == 0) return 0;
    return std::max<std::uint32_t>(1,
                                   static_cast<std::uint32_t>(std::uint64_t{total} * value / 100));
}

Result<Configuration> parse_configuration(std::string_view content, std::string_view name) {
    Parser parser(name);
    while (!content.empty()) {
        const auto end = content.find('\n');
        if (auto read = parser.line(content.substr(0, end)); !read)
            return tl::unexpected(read.error());
        if (end == std::string_view::npos) break;
        content.remove_prefix(end + 1);
    }
    return parser.finish();
}

Result<Configuration> load_configuration(const std::string& path) {
    auto content = read_file(path, max_configuration_bytes);
    if (!content) return tl::unexpected(content.error());
    return parse_configuration(*content, path);
}

std::string configuration_path() {
    const char* slurm_conf = std::getenv("SLURM_CONF");
    const std::string_view conf = slurm_conf ? slurm_conf : "";
    const auto slash = conf.rfind('/');
    if (slash == std::string_view::npos) return COHORT_CONFDIR "/cohort.conf";
    return std::string(conf.substr(0, slash)) + "/cohort.conf";
}

std::string default_state_dir(const std::string& state_save_location) {
    std::string base = state_save_location;
    while (base.size() > 1 && base.back() == '/') base.pop_back();
    return base + "-cohort";
}

}  // namespace cohort
