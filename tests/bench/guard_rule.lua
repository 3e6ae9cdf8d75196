-- SPDX-License-Identifier: GPL-2.0-or-later
-- The rule of guard_verdict_bench.cpp's "features" row as a site would write it for job_submit/lua:
-- which nodes of the partition have one of two features, how many of each revision, and the bound.
-- Prints the median time of one verdict in microseconds.
local count, rounds = 10000, tonumber(arg and arg[1]) or 200
local a, b = "rev_" .. string.rep("a", 16), "rev_" .. string.rep("b", 16)
local nodes, partition = {}, {}
for i = 0, count - 1 do
    local name = "n" .. i
    nodes[name] = {
        idle = i % 3 ~= 0,
        revision = i % 2 == 1 and a or b,
        features = { [i % 4 ~= 0 and "cpu" or "gpu"] = true },
    }
    partition[#partition + 1] = name
end

local function verdict(wanted, excluded, needed)
    local by_revision = {}
    for _, name in ipairs(partition) do
        local node = nodes[name]
        if not excluded[name] then
            for _, feature in ipairs(wanted) do
                if node.features[feature] then
                    by_revision[node.revision] = (by_revision[node.revision] or 0) + 1
                    break
                end
            end
        end
    end
    local group = {}
    for revision, n in pairs(by_revision) do
        if n >= needed then group[#group + 1] = revision end
    end
    table.sort(group)
    return "(" .. table.concat(wanted, "|") .. ")&[" .. table.concat(group, "|") .. "]"
end

local times = {}
for i = 1, rounds do
    local start = os.clock()
    assert(#verdict({ "gpu", "cpu" }, {}, 16) > 40)
    times[i] = (os.clock() - start) * 1e6
end
table.sort(times)
print(string.format("%.1f", times[math.ceil(rounds / 2)]))
