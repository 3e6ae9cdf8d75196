// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the two sources of Cloud share: calls that must succeed, and lists with their pages.
// Private to common/openstack.
#pragma once

#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/openstack/answers.hpp"
#include "common/openstack/cloud.hpp"
#include "common/openstack/session.hpp"
#include "common/openstack/url.hpp"

namespace cohort::openstack {

constexpr std::size_t max_pages = 10000;

// locked needs 2.9 and its reason 2.73: worth asking for, not worth failing for.
inline const std::vector<std::string> server_versions = {"2.73", "2.9", ""};
// The owner sees the events from 2.51 on.
inline const std::vector<std::string> action_versions = {"2.51", ""};

struct Cloud::Impl {
    CloudConfig config;
    Session session;

    Impl(CloudConfig c, const Options& options, std::unique_ptr<Transport> transport)
        : config(std::move(c)),
          session(config, options, std::move(transport),
                  [](std::chrono::milliseconds pause) { std::this_thread::sleep_for(pause); }) {}

    // The answer of a call that must succeed.
    Result<HttpAnswer> get(const Call& call) {
        auto answer = session.call(call);
        if (answer && answer->status >= 300) return tl::unexpected(session.refused(call, *answer));
        return answer;
    }

    template <class T, class Parse>
    Result<T> one(const Call& call, Parse parse) {
        const auto answer = get(call);
        if (!answer) return tl::unexpected(answer.error());
        auto value = parse(answer->body);
        if (!value) return fail(fmt::format("cloud {}: {}", config.name, call.what), value.error());
        return *std::move(value);
    }

    template <class T, class Parse>
    Result<std::vector<T>> all(Call call, Parse parse);

    Call server_call(const std::string& id) const {
        return {"server " + id, "compute", "servers/" + encode(id), {}, server_versions, {}};
    }
    Result<Image> image_by_id(const std::string& id);
    Result<Image> image_by_name(const std::string& name);
    Result<Action> with_cause(const std::string& server_id, Action action);
};

template <class T, class Parse>
Result<std::vector<T>> Cloud::Impl::all(Call call, Parse parse) {
    std::vector<T> items;
    std::set<std::string> seen;
    const auto root = session.service_root(call.service);
    if (!root) return tl::unexpected(root.error());
    call.path = join_url(*root, call.path);
    while (true) {
        if (!seen.insert(call.path).second || seen.size() > max_pages)
            return fail(Errc::unreachable,
                        fmt::format("cloud {}: {}: the pages of the list lead in a circle",
                                    config.name, call.what));
        auto page = one<Page<T>>(call, parse);
        if (!page) return tl::unexpected(page.error());
        std::move(page->items.begin(), page->items.end(), std::back_inserter(items));
        if (page->next.empty()) return items;
        call.path = next_page(call.path, page->next);
        if (call.path.empty())
            return fail(Errc::unreachable,
                        fmt::format("cloud {}: {}: the link to the next page is unusable",
                                    config.name, call.what));
    }
}

}  // namespace cohort::openstack
