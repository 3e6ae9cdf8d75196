// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/message.hpp"

#include <fmt/core.h>

#include "common/text.hpp"

namespace cohort::guard {
namespace {

// Words of users are shown, but never a whole screen of them.
constexpr std::size_t max_quote = 120;

std::string quote(const std::string& s) {
    return text::one_line(s, max_quote);
}

std::string plural(std::size_t n) {
    return fmt::format("{} node{}", n, n == 1 ? "" : "s");
}

std::string changing(const Tally& tally) {
    return fmt::format("cohort {} runs more than one software revision while it is being renewed",
                       tally.cohort);
}

std::string choose_one(const Tally& tally) {
    return tally.revisions.empty()
               ? "submit again when nodes are back"
               : fmt::format("choose one with -C {}", tally.revisions.front().revision);
}

}  // namespace

std::string Tally::text() const {
    std::vector<std::string> parts;
    constexpr std::size_t shown = 4;
    for (std::size_t i = 0; i < revisions.size() && i < shown; ++i)
        parts.push_back(fmt::format("{}: {}", revisions[i].revision, plural(revisions[i].nodes)));
    if (revisions.size() > shown)
        parts.push_back(fmt::format("{} more revisions", revisions.size() - shown));
    if (unlabelled) parts.push_back(fmt::format("without a revision now: {}", plural(unlabelled)));
    return text::join(parts, ", ");
}

Lines told_bound(const Tally& tally, const std::string& bound) {
    return {fmt::format("cohort: {}; this job stays on one of them ({})", changing(tally), bound)};
}

Lines told_trimmed(const Tally& tally, const std::string& partition) {
    return {fmt::format("cohort: {}; this job goes to partition {}", changing(tally), partition)};
}

Lines held_cold() {
    return {
        "cohort: the controller has just started; the job is accepted and released in a moment"};
}

Lines held_by_rule(const Tally& tally) {
    return {fmt::format("cohort: {}", changing(tally)),
            "the job is accepted and waits until all nodes are of one revision",
            fmt::format("to start earlier, {}", choose_one(tally))};
}

Lines held_for_size(const Tally& tally, std::uint32_t needed) {
    return {fmt::format("cohort: {} ({})", changing(tally), tally.text()),
            fmt::format("no revision has the {} that this job needs: it waits for them",
                        plural(needed))};
}

Lines refused_by_rule(const Tally& tally) {
    return {fmt::format("cohort: {} ({})", changing(tally), tally.text()),
            "this site takes no job now that could run on two of them",
            fmt::format("{}, or ask for one node (-N 1)", choose_one(tally))};
}

Lines refused_size(const Tally& tally, std::uint32_t needed) {
    return {fmt::format("cohort: {} ({})", changing(tally), tally.text()),
            fmt::format("no revision has the {} that this job needs", plural(needed)),
            tally.largest() > 0
                ? fmt::format("ask for at most {}, or submit again when the renewal is over",
                              plural(tally.largest()))
                : "submit again when the renewal is over"};
}

Lines refused_node_list(const Tally& tally, const std::string& nodes) {
    return {fmt::format("cohort: {} ({})", changing(tally), tally.text()),
            fmt::format("the nodes asked for are not of one revision: {}", quote(nodes)),
            "leave out -w (--nodelist), or name nodes of one revision only"};
}

Lines refused_counts(const Tally& tally, const std::string& constraint) {
    return {fmt::format("cohort: {} ({})", changing(tally), tally.text()),
            fmt::format("a constraint with counts cannot be kept on one of them: {}",
                        quote(constraint)),
            fmt::format("leave out the counts, or {}", choose_one(tally))};
}

Lines refused_unclear(const Tally& tally, const std::string& constraint, const std::string& why) {
    return {fmt::format("cohort: {} ({})", changing(tally), tally.text()),
            fmt::format("the constraint cannot be kept on one of them: {}", quote(constraint)),
            fmt::format("because {}; write it in a simpler form", quote(why))};
}

Lines refused_component(const Tally& tally, const std::string& revision) {
    return {fmt::format("cohort: {} ({})", changing(tally), tally.text()),
            revision.empty()
                ? std::string("the components of a het job must all be of one of them")
                : fmt::format("this component cannot be of {}, as the ones before it, or they need "
                              "more nodes together than it has",
                              revision),
            "choose one revision with -C REVISION in every component, or ask for fewer nodes"};
}

}  // namespace cohort::guard
