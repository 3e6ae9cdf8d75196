// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/spank/gate.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/proof.hpp"
#include "common/text.hpp"

namespace cohort::spank {
namespace {

constexpr std::size_t max_stamp_file = 64 * 1024;

std::string read_stamp(const Arguments& arguments, const Places& places) {
    if (!arguments.stamp_file.empty()) {
        const auto content = read_file(arguments.stamp_file, max_stamp_file);
        return content ? stamp_of_file(*content) : std::string();
    }
    for (const auto& path : places.os_release)
        if (const auto content = read_file(path, max_stamp_file))
            return stamp_of_os_release(*content);
    return {};
}

bool matches(std::string_view expected, std::string_view revision, std::string_view hash) {
    return expected == revision || (!hash.empty() && expected == hash) ||
           (expected.size() == 64 && hash.empty() && revision_name(expected) == revision);
}

// What the node itself says, without any word of what was published.
Result<std::string> own_revision(const Arguments& arguments, const View& view) {
    if (!arguments.profile_required) return revision_name_of_stamp(view.stamp);
    if (!view.profile) return fail("the task profile is not usable", view.profile.error());
    const auto sealed = view.profile->settings.find("path_precedence");
    if (arguments.order && sealed != view.profile->settings.end() &&
        (sealed->second == "prepend") != (*arguments.order == Order::prepend))
        return fail(
            Errc::invalid,
            fmt::format("plugstack.conf says path={}, the sealed profile {}",
                        *arguments.order == Order::prepend ? "prepend" : "append", sealed->second));
    return view.profile->revision();
}

Status judge_published(const Arguments& arguments, const View& view, const std::string& own) {
    if (!view.published) {
        const bool nothing_to_compare = !arguments.expect_revision.empty() ||
                                        (!arguments.profile_required && view.stamp.empty());
        if (view.published.error().code == Errc::not_found && nothing_to_compare) return {};
        if (view.published.error().code == Errc::not_found)
            return fail(Errc::denied,
                        "this boot has published no revision (cohort-node join "
                        "--after did not run, or failed)");
        return tl::unexpected<Error>(view.published.error());
    }
    const Published& published = *view.published;
    if (published.boot_id != view.boot_id)
        return fail(Errc::denied, "the published revision is of an earlier boot");
    if (arguments.profile_required && own != published.revision)
        return fail(Errc::denied, fmt::format("the sealed profile is {}, published was {}", own,
                                              published.revision));
    if (!arguments.profile_required && view.stamp != published.stamp)
        return fail(Errc::denied, fmt::format("the image's stamp is '{}', published was '{}'",
                                              view.stamp, published.stamp));
    return {};
}

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

}  // namespace

View look(const Arguments& arguments, const Places& places, const std::function<bool()>& pause) {
    View view;
    view.boot_id = current_boot_id().value_or("");
    if (!arguments.profile_required) view.stamp = read_stamp(arguments, places);
    const bool may_be_absent =
        !arguments.expect_revision.empty() || (!arguments.profile_required && view.stamp.empty());
    do {
        view.published = read_published(places.runtime);
    } while (!view.published && !may_be_absent && view.published.error().code == Errc::not_found &&
             pause());
    if (!arguments.profile_required) return view;
    do {
        view.profile = read_profile({arguments.profile_dir, places.profile_owner});
    } while (!view.profile && view.profile.error().code == Errc::busy && pause());
    return view;
}

Result<std::string> judge(const Arguments& arguments, const View& view) {
    auto own = own_revision(arguments, view);
    if (!own) return own;
    if (auto fine = judge_published(arguments, view, *own); !fine)
        return tl::unexpected<Error>(fine.error());
    // Without a profile the published name is the node's: an image may carry no stamp.
    const std::string revision =
        !arguments.profile_required && view.published ? view.published->revision : *own;
    const std::string hash = view.profile ? view.profile->hash : "";
    if (!arguments.expect_revision.empty() && !matches(arguments.expect_revision, revision, hash))
        return fail(Errc::denied, fmt::format("this node is {}, plugstack.conf expects {}",
                                              revision, arguments.expect_revision));
    return revision;
}

std::vector<std::string> revisions_in(std::string_view constraints) {
    std::vector<std::string> found;
    const auto is_word = [](char c) {
        return is_hex(c) || (c >= 'g' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
               c == '-' || c == '.';
    };
    std::string word;
    for (std::size_t i = 0; i <= constraints.size(); ++i) {
        if (i < constraints.size() && is_word(constraints[i])) {
            word += constraints[i];
            continue;
        }
        if (is_revision_name(word)) found.push_back(word);
        word.clear();
    }
    return found;
}

Status judge_constraints(std::string_view revision, std::string_view constraints) {
    const auto bound = revisions_in(constraints);
    if (bound.empty() || std::find(bound.begin(), bound.end(), revision) != bound.end()) return {};
    return fail(Errc::denied, fmt::format("this node is {}, the job is bound to {}", revision,
                                          text::join(bound, " or ")));
}

}  // namespace cohort::spank
