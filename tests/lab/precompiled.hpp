// SPDX-License-Identifier: GPL-2.0-or-later
//
// What nearly every file includes, compiled once for ./demo; nothing in the tree includes it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include <fmt/core.h>
#include <tl/expected.hpp>
