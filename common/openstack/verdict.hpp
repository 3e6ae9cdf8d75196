// SPDX-License-Identifier: GPL-2.0-or-later
//
// What to do after one HTTP exchange: the rule that never lets a second POST out when the first
// may have been taken. Pure.
//
// Of a POST that changes something only these are certain refusals: nothing was sent; 401; 429;
// 413 or 503 with Retry-After; any other 4xx. A 503 without Retry-After is mostly a refusal too (a
// limiter, a balancer without a back end, nova without keystone), but some proxies also write it
// when the connection behind them broke: the caller looks first. 500, 502, 504, a time-out or
// a broken connection after the request went out may hide a taken one.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/openstack/http.hpp"

namespace cohort::openstack {

enum class Next {
    done,        // an answer to be understood by the caller: 2xx or a plain 4xx
    sign_in,     // 401
    again,       // wait, then send it again
    look_first,  // a POST that was most likely refused: send it again only if nothing happened
    unsure,      // a POST that may have been taken
    give_up,     // it cannot work: a redirect, an answer that is no answer
};

struct Verdict {
    Next next = Next::done;
    std::optional<std::chrono::seconds> wait;  // the cloud's own wish
    std::string why;                           // for all but done
};

// SAFE: the request may be repeated at will (every GET, and signing in). NOW: the cloud's clock.
Verdict judge_answer(const HttpAnswer& answer, bool safe,
                     std::chrono::system_clock::time_point now);

}  // namespace cohort::openstack
