// SPDX-License-Identifier: GPL-2.0-or-later
//
// Brute force: over small random clusters and requests, every node set that Slurm could allocate
// under the verdict is enumerated. None may mix revisions within a guarded cohort; no request that
// has a placement on one revision may be refused; and a bound must leave such a placement possible.
#include "tests/unit/guard_slurm_model.hpp"
#include "tests/unit/guard_world.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort::guard;
using guard_random::Dice;
using slurm_model::Nodes;

namespace {

constexpr unsigned node_count = 6;
constexpr Nodes every = (1U << node_count) - 1;

unsigned size(Nodes set) {
    return static_cast<unsigned>(__builtin_popcount(set));
}

std::string name(unsigned i) {
    return fmt::format("n{}", i + 1);
}

std::vector<std::string> some_nodes(Dice& dice, unsigned at_least, unsigned at_most) {
    std::vector<std::string> out;
    for (unsigned n = at_least + dice.upto(at_most - at_least); n > 0; --n) {
        const auto one = name(dice.upto(node_count - 1));
        if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
    }
    return out;
}

World random_world(Dice& dice) {
    std::string nodes;
    const std::vector<std::string> labels =
        dice.chance(50) ? std::vector<std::string>{"a", "a", "b", "b", "~"}
                        : std::vector<std::string>{"a", "a", "b", "c", "-", "b~"};
    for (unsigned i = 0; i < node_count; ++i) {
        nodes += fmt::format(" {}:{}:", name(i), dice.pick(labels));
        for (const char* feature : {"x", "y", "z"})
            if (dice.chance(50)) nodes += fmt::format("{},", feature);
    }
    const auto list = [&](unsigned least) {
        return cohort::text::join(some_nodes(dice, least, node_count), ",");
    };
    World world(nodes, "all=n1,n2,n3,n4,n5,n6 p=" + list(1) + " q=" + list(1));
    if (dice.chance(60)) {
        world.cohort("all", "n1,n2,n3,n4,n5,n6");
    } else {
        world.cohort("first", list(2));
        if (dice.chance(60)) world.cohort("second", list(2));
    }
    return world;
}

Request random_request(Dice& dice) {
    const std::vector<std::string> names = {
        "x", "y", "z", "x", guard_random::revision('a'), guard_random::revision('b')};
    Request request;
    request.min_nodes = 1 + dice.upto(3);
    request.max_nodes = dice.chance(70) ? request.min_nodes : request.min_nodes + dice.upto(3);
    if (dice.chance(30)) request.partition = dice.chance(50) ? "p" : "p,q";
    if (dice.chance(60)) request.features = guard_random::constraint(dice, names, 30);
    if (dice.chance(25)) request.prefer = guard_random::constraint(dice, names, 20);
    if (dice.chance(20)) request.required = some_nodes(dice, 1, request.max_nodes);
    if (dice.chance(20)) request.excluded = some_nodes(dice, 1, 3);
    return request;
}

class Oracle {
  public:
    explicit Oracle(const World& world) : world_(world), view_(world.view()) {}

    Nodes nodes_of(const std::string& feature) const {
        Nodes out = 0;
        for (unsigned i = 0; i < node_count; ++i) {
            const auto names = cohort::text::split(world_.snapshot.nodes[i].active_features, ',');
            if (std::find(names.begin(), names.end(), feature) != names.end()) out |= 1U << i;
        }
        return out;
    }

    Nodes listed(const std::vector<std::string>& names) const {
        Nodes out = 0;
        for (const auto& one : names) out |= 1U << view_->position(one);
        return out;
    }

    // STRICT: as the manual says, else with every gap that Slurm was seen to have.
    bool possible(const Request& request, const std::string& constraint, Nodes set,
                  bool strict = false) const {
        const Nodes required = listed(request.required);
        if (size(set) < std::max(request.min_nodes, size(required))) return false;
        if (size(set) > request.max_nodes) return false;
        if ((required & ~set) || (listed(request.excluded) & set)) return false;
        const auto partitions = request.partition.empty()
                                    ? std::vector<std::string>{"all"}
                                    : cohort::text::split(request.partition, ',');
        for (const auto& one : partitions)
            if ((set & ~listed(world_.snapshot.partition(one)->nodes)) == 0)
                return slurm_model::possible(constraint, set, every, required != 0 && !strict,
                                             [&](const std::string& f) { return nodes_of(f); });
        return false;
    }

    // Slurm takes --prefer first and the features after.
    bool possible(const Request& request, Nodes set) const {
        return possible(request, request.features, set) ||
               (!request.prefer.empty() && possible(request, request.prefer, set));
    }

    bool mixes(Nodes set) const {
        for (const auto& cohort : view_->cohorts()) {
            if (!cohort.guarded()) continue;
            std::vector<std::string> labels;
            for (unsigned i = 0; i < node_count; ++i)
                if ((set >> i & 1) && cohort.nodes.has(i))
                    labels.push_back(world_.snapshot.nodes[i].record.revision);
            if (labels.size() < 2) continue;
            for (const auto& one : labels)
                if (one.empty() || one != labels.front()) return true;
        }
        return false;
    }

    bool of_one_revision(Nodes set) const {
        std::string revision;
        for (unsigned i = 0; i < node_count; ++i) {
            if (!(set >> i & 1)) continue;
            const auto& one = world_.snapshot.nodes[i].record.revision;
            if (one.empty() || (!revision.empty() && one != revision)) return false;
            revision = one;
        }
        return true;
    }

    std::shared_ptr<const GuardView> view() const { return view_; }

  private:
    const World& world_;
    std::shared_ptr<const GuardView> view_;
};

std::string show(const World& world, const Request& r, const Verdict& v) {
    std::string out;
    for (const auto& node : world.snapshot.nodes)
        out += fmt::format("{}:{} ", node.name, node.active_features);
    for (const auto& p : world.snapshot.partitions)
        out += fmt::format("{}={} ", p.name, cohort::text::join(p.nodes, ","));
    for (const auto& c : world.cohorts)
        out += fmt::format("cohort {}={} ", c.name, cohort::text::join(c.nodes, ","));
    return shorten(
        out +
        fmt::format(
            "| -N{}-{} -p '{}' -C '{}' --prefer '{}' -w '{}' -x '{}' | outcome {} cause {} -C '{}' "
            "--prefer '{}'",
            r.min_nodes, r.max_nodes, r.partition, r.features, r.prefer,
            cohort::text::join(r.required, ","), cohort::text::join(r.excluded, ","),
            static_cast<int>(v.outcome), static_cast<int>(v.cause), v.features.value_or("(kept)"),
            v.prefer.value_or("(kept)")));
}

// What the seeds have met, so that a generator that stopped generating is noticed.
struct Seen {
    int pass = 0, bound = 0, refused = 0, mixing_before = 0;
};

void check(const World& world, const Request& request, Seen& seen) {
    const Oracle oracle(world);
    const Verdict verdict = judge(request, {}, oracle.view().get());
    const auto context = show(world, request, verdict);
    Request after = request;
    if (verdict.features) after.features = *verdict.features;
    if (verdict.prefer) after.prefer = *verdict.prefer;
    if (verdict.partition) after.partition = *verdict.partition;
    unit::expect(verdict.outcome != Outcome::hold, "held: " + context);
    bool single = false, single_after = false, mixed = false;
    for (Nodes set = 1; set <= every; ++set) {
        const bool before = oracle.possible(request, set);
        const bool now = oracle.possible(after, set);
        mixed = mixed || (before && oracle.mixes(set));
        if (verdict.outcome != Outcome::refuse)
            unit::expect(!(now && oracle.mixes(set)), fmt::format("mixes {:#b}: {}", set, context));
        if (oracle.of_one_revision(set)) {
            // The features must allow it: --prefer alone is no promise that it can run.
            single = single || oracle.possible(request, request.features, set, true);
            single_after = single_after || oracle.possible(after, after.features, set, true);
        }
    }
    const bool by_design = verdict.cause == Cause::counts || verdict.cause == Cause::unclear;
    if (verdict.outcome == Outcome::refuse) {
        unit::expect(!single || by_design, "refused although it fits: " + context);
        unit::expect(mixed || by_design || !single, "refused although it cannot mix: " + context);
    } else if (single && !verdict.partition) {
        unit::expect(single_after, "the bound leaves it no place: " + context);
    }
    if (verdict.outcome == Outcome::pass)
        unit::expect(!mixed, "passed although it can mix: " + context);
    seen.pass += verdict.outcome == Outcome::pass;
    seen.bound += verdict.outcome == Outcome::bind;
    seen.refused += verdict.outcome == Outcome::refuse;
    seen.mixing_before += mixed;
}

void single_jobs(unsigned first_seed) {
    Seen seen;
    for (unsigned seed = first_seed; seed < first_seed + 6000; ++seed) {
        Dice dice(seed);
        const World world = random_world(dice);
        for (int i = 0; i < 5; ++i) {
            const Request request = random_request(dice);
            if (!parse_constraint(request.features) || !parse_constraint(request.prefer)) continue;
            check(world, request, seen);
        }
    }
    unit::expect(
        seen.pass > 1000 && seen.bound > 1000 && seen.refused > 300 && seen.mixing_before > 1000,
        fmt::format("too few of a kind: pass {} bound {} refused {} mixing {}", seen.pass,
                    seen.bound, seen.refused, seen.mixing_before));
}

// Two components: whatever sets Slurm gives them, together they must not mix.
void het_jobs() {
    int bound = 0;
    for (unsigned seed = 1; seed < 4000; ++seed) {
        Dice dice(seed);
        const World world = random_world(dice);
        const Oracle oracle(world);
        std::vector<Request> after;
        HetChoice choice;
        std::string context;
        for (int component = 0; component < 2; ++component) {
            Request request = random_request(dice);
            if (!parse_constraint(request.features) || !parse_constraint(request.prefer)) break;
            request.het = true;
            request.het_choice = choice;
            const Verdict verdict = judge(request, {}, oracle.view().get());
            context += show(world, request, verdict) + "\n";
            if (component == 0 && verdict.outcome == Outcome::refuse &&
                verdict.cause != Cause::counts && verdict.cause != Cause::unclear)
                for (Nodes set = 1; set <= every; ++set)
                    unit::expect(!oracle.of_one_revision(set) ||
                                     !oracle.possible(request, request.features, set, true),
                                 "first component refused although it fits: " + context);
            if (verdict.outcome == Outcome::refuse) break;
            choice = verdict.het_choice;
            if (verdict.features) request.features = *verdict.features;
            if (verdict.prefer) request.prefer = *verdict.prefer;
            if (verdict.partition) request.partition = *verdict.partition;
            bound += verdict.outcome == Outcome::bind;
            after.push_back(std::move(request));
        }
        if (after.size() < 2) continue;
        for (Nodes one = 1; one <= every; ++one) {
            if (!oracle.possible(after[0], one)) continue;
            for (Nodes two = 1; two <= every; ++two)
                if ((one & two) == 0 && oracle.possible(after[1], two))
                    unit::expect(!oracle.mixes(one | two),
                                 fmt::format("mixes {:#b}+{:#b}: {}", one, two, context));
        }
    }
    unit::expect(bound > 300, fmt::format("too few bound components: {}", bound));
}

}  // namespace

int main() {
    return unit::run("guard oracle",
                     {
                         {"no set that Slurm could give mixes, none that fits is refused (1)",
                          [] { single_jobs(1); }},
                         {"no set that Slurm could give mixes, none that fits is refused (2)",
                          [] { single_jobs(100000); }},
                         {"the components of a het job together do not mix", het_jobs},
                     });
}
