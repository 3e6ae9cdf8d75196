// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/verdict.hpp"

#include <fmt/core.h>

#include "common/openstack/answers.hpp"
#include "common/openstack/retry.hpp"

namespace cohort::openstack {
namespace {

std::string with_sentence(int status, std::string_view body) {
    const std::string sentence = error_sentence(body);
    return sentence.empty() ? fmt::format("it answered {}", status)
                            : fmt::format("it answered {}: {}", status, sentence);
}

Verdict without_answer(const HttpAnswer& answer, bool safe) {
    // The status line and headers of a 2xx say all that matters of an action.
    if (!safe && answer.status >= 200 && answer.status < 300) return {};
    if (!safe && answer.sent) return {Next::unsure, {}, answer.failure};
    return {Next::again, {}, answer.failure};
}

}  // namespace

Verdict judge_answer(const HttpAnswer& answer, bool safe,
                     std::chrono::system_clock::time_point now) {
    if (!answer.complete) return without_answer(answer, safe);
    const int status = answer.status;
    if (status >= 200 && status < 300) return {};
    const std::string why = with_sentence(status, answer.body);
    const auto wait = parse_retry_after(answer.header("retry-after"), now);
    switch (status) {
        case 401:
            return {Next::sign_in, {}, why};
        case 408:  // the server waited in vain for the request
        case 425:
        case 429:
            return {Next::again, wait, why};
        case 413:
            return wait ? Verdict{Next::again, wait, why} : Verdict{Next::done, {}, why};
        case 503:
            return {safe || wait ? Next::again : Next::look_first, wait, why};
        default:
            break;
    }
    if (status >= 500) return {safe ? Next::again : Next::unsure, wait, why};
    if (status >= 400) return {Next::done, {}, why};
    return {Next::give_up,
            {},
            fmt::format("it answered {} (a redirect is not followed, the token would go with it): "
                        "correct the URL in the catalog or set an endpoint override",
                        status)};
}

}  // namespace cohort::openstack
