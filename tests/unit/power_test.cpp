// SPDX-License-Identifier: GPL-2.0-or-later
//
// Power saving: which machine a node gets, that it never gets two, and that only ours are removed.
#include "rebootprog/power/power.hpp"

#include <algorithm>

#include "rebootprog/cloud/backend_exec.hpp"
#include "rebootprog/power/power_promise.hpp"
#include "tests/unit/attempt_fixture.hpp"

using namespace cohort;
using namespace std::chrono_literals;

namespace {

ServerState machine(const std::string& id, const std::string& owner = "n1") {
    ServerState s;
    s.id = id;
    s.name = "n1";
    s.status = "ACTIVE";
    s.image = "image-2";
    s.owner = owner;
    return s;
}

// A cloud of machines of one node.
struct FakeCloud : fake::FakeBackend {
    std::vector<ServerState> all;
    std::deque<Result<MachineMade>> makes = {MachineMade{"made-1", "req-9"}};
    std::vector<MachineOrder> orders;
    std::vector<std::string> removed;
    std::string becomes = "ACTIVE";
    bool stays = false;  // what is removed stays for ever
    std::optional<Error> list_error;

    Result<std::vector<ServerState>> named(const std::string&) override {
        if (list_error) return tl::unexpected(*list_error);
        return all;
    }
    Result<ServerState> server(const Target& target) override {
        for (const auto& one : all)
            if (one.id == target.server) return one;
        return fail(Errc::not_found, "no such server");
    }
    Result<MachineMade> create(const MachineOrder& order) override {
        orders.push_back(order);
        auto made = next(makes);
        // An answer that is lost is one of a machine that is made all the same.
        if (made || made.error().code == Errc::unsure) {
            ServerState one = machine("made-1");
            one.status = becomes;
            one.fault = becomes == "ERROR" ? "No valid host was found" : "";
            one.mark = order.mark;
            if (made || lost_is_made) all.push_back(one);
        }
        return made;
    }
    Status remove(const std::string& server) override {
        removed.push_back(server);
        if (!stays) std::erase_if(all, [&](const ServerState& one) { return one.id == server; });
        return {};
    }
    bool lost_is_made = true;
};

struct PowerBench : fake::Bench {
    FakeCloud cloud;
    PowerBench() {
        write("image_id: v2\nflavor_id: small\n");
        cloud.images.front() = ImageState{"image-2", "v2", "lab/v2", true, ""};
        cloud.actions = {fake::done(true)};
        cloud.sends = {std::string("req-1")};
    }
    void write(const std::string& text) { std::ofstream(dir + "/n1.yml") << text; }
    Outcome resume() {
        const auto c = context_with(cloud);
        return resume_node(c, "n1");
    }
    Outcome suspend() {
        const auto c = context_with(cloud);
        return suspend_node(c, "n1");
    }
    Outcome failed() {
        const auto c = context_with(cloud);
        return resume_failed(c, "n1");
    }
    // An attempt that a process left behind.
    Attempt left(const char* action, Outcome outcome, Phase phase, std::int64_t ago = 0) {
        Attempt attempt;
        attempt.node = "n1";
        attempt.action = action;
        attempt.outcome = outcome;
        attempt.phase = phase;
        attempt.began = attempt.posted = std::time(nullptr) - ago;
        attempt.id = *journal->begin(attempt);
        return attempt;
    }
};

std::vector<unit::Rule> resume_rules() {
    return {
        {"a machine is made as the desired file says, and the node told",
         [] {
             PowerBench b;
             b.write(
                 "image_id: v2\nflavor_id: small\nnetwork_ids: "
                 "[11111111-1111-4111-8111-111111111111]\nkey_name: ops\nconfig_drive: true\n");
             fake::expect_outcome(b.resume(), Outcome::ok);
             const auto& order = b.cloud.orders.at(0);
             unit::expect_equal(order.node + " " + order.image + " " + order.keys.flavor_id + " " +
                                    order.keys.key_name,
                                std::string("n1 image-2 small ops"));
             unit::expect(order.keys.networks.size() == 1 && order.keys.config_drive, "keys");
             const auto want = *b.desk.record.want;
             unit::expect_equal(
                 want.action + " " + want.stamp + " " + want.request + " " + want.result,
                 std::string("create lab/v2 req-9 ok"));
             unit::expect(b.desk.record.revision.empty(), "withdrawn until join publishes");
             unit::expect_equal(b.last().server, std::string("made-1"));
         }},
        {"a machine of ours that is there is rebooted: Slurm waits for a boot",
         [] {
             PowerBench b;
             b.cloud.all = {machine("old-1")};
             fake::expect_outcome(b.resume(), Outcome::ok);
             unit::expect_equal(b.cloud.orders.size(), std::size_t{0});
             unit::expect(!b.cloud.log.empty() && b.cloud.log[0] == "soft", "rebooted");
         }},
        {"one that the desired file names is ours, whatever its name",
         [] {
             PowerBench b;
             b.write("instance_id: 11111111-1111-4111-8111-111111111111\nimage_id: v2\n");
             b.cloud.all = {machine("11111111-1111-4111-8111-111111111111", "")};
             fake::expect_outcome(b.resume(), Outcome::ok);
             unit::expect_equal(b.cloud.orders.size(), std::size_t{0});
         }},
        {"one of the name that is not ours is left alone, and no second is made",
         [] {
             PowerBench b;
             b.cloud.all = {machine("other", "")};
             fake::expect_outcome(b.resume(), Outcome::failed);
             unit::expect_contains(b.desk.out_reason, "not made by slurm-cohort");
             unit::expect_equal(b.cloud.orders.size() + b.cloud.removed.size(), std::size_t{0});
         }},
        {"two of ours are a fault with their ids",
         [] {
             PowerBench b;
             b.cloud.all = {machine("a"), machine("b")};
             fake::expect_outcome(b.resume(), Outcome::failed);
             unit::expect_contains(b.desk.out_reason, "a, b");
         }},
        {"one that is still being built is followed",
         [] {
             PowerBench b;
             b.limit = 600ms;
             b.cloud.all = {machine("old-1")};
             b.cloud.all[0].status = "BUILD";
             fake::expect_outcome(b.resume(), Outcome::unsure);
             unit::expect_equal(b.cloud.orders.size(), std::size_t{0});
             unit::expect_equal(b.last().server, std::string("old-1"));
         }},
        {"an answer that is lost: found by its mark, never asked for again",
         [] {
             PowerBench b;
             b.cloud.makes = {fail(Errc::unsure, "broken off")};
             fake::expect_outcome(b.resume(), Outcome::ok);
             unit::expect_equal(b.cloud.orders.size(), std::size_t{1});
         }},
        {"an answer that is lost and nothing to be found: unsure, and the next call waits",
         [] {
             PowerBench b;
             b.limit = 600ms;
             b.cloud.makes = {fail(Errc::unsure, "broken off")};
             b.cloud.lost_is_made = false;
             fake::expect_outcome(b.resume(), Outcome::unsure);
             fake::expect_outcome(b.resume(), Outcome::untouched);
             unit::expect_equal(b.cloud.orders.size(), std::size_t{1});
         }},
        {"after it has settled a new one may be asked for",
         [] {
             PowerBench b;
             b.left("create", Outcome::unsure, Phase::posting, 1000);
             fake::expect_outcome(b.resume(), Outcome::ok);
             unit::expect_equal(b.cloud.orders.size(), std::size_t{1});
         }},
        {"one that ends in ERROR is removed, and its fault said",
         [] {
             PowerBench b;
             b.cloud.becomes = "ERROR";
             fake::expect_outcome(b.resume(), Outcome::failed);
             unit::expect_contains(b.desk.out_reason, "No valid host was found");
             unit::expect_equal(b.cloud.removed.at(0), std::string("made-1"));
             unit::expect_contains(b.desk.record.want->result, "failed");
             unit::expect_equal(*b.journal->failed_in_row("n1", "create"), 1);
         }},
        {"a refusal (quota, flavor) is the node's fault",
         [] {
             PowerBench b;
             b.cloud.makes = {fail(Errc::denied, "Quota exceeded")};
             fake::expect_outcome(b.resume(), Outcome::failed);
             unit::expect_contains(b.desk.out_reason, "Quota exceeded");
         }},
        {"a cloud out of reach is tried again; in the end the node keeps its promise",
         [] {
             PowerBench b;
             b.limit = 800ms;
             b.cloud.makes = {fail(Errc::unreachable, "503")};
             fake::expect_outcome(b.resume(), Outcome::untouched);
             unit::expect(b.cloud.orders.size() > 1 && b.cloud_faults > 0, "tried again");
             unit::expect_equal(b.desk.record.revision, std::string("rev_0123456789abcdef"));
             unit::expect_contains(b.desk.out_reason, "cloud out of reach");
         }},
        {"without a flavor nova's own word is passed on; a bad network is refused here",
         [] {
             PowerBench b;
             b.write("image_id: v2\nnetwork_ids: net1\n");
             fake::expect_outcome(b.resume(), Outcome::failed);
             unit::expect_contains(b.desk.out_reason, "neither a UUID");
         }},
    };
}

std::vector<unit::Rule> suspend_rules() {
    return {
        {"our machine is removed, and the node promises what its next one will be",
         [] {
             PowerBench b;
             b.cloud.all = {machine("made-1")};
             b.desk.record.want = Want{};
             fake::expect_outcome(b.suspend(), Outcome::ok);
             unit::expect(b.cloud.all.empty(), "gone");
             unit::expect(!b.desk.record.want, "no wish");
             unit::expect(b.desk.record.revision.starts_with("rev_"), b.desk.record.revision);
             unit::expect(b.desk.record.revision != "rev_0123456789abcdef", "of the desired image");
             unit::expect_equal(b.last().action, std::string("delete"));
         }},
        {"a sleeping node's label is a promise until a machine has published one",
         [] {
             Node node;
             node.state.power_saving = true;
             node.record.revision = "rev_0123456789abcdef";
             unit::expect(has_promise(node), "asleep");
             Node up = node, woken = node, published = node, asked = node, bare = node;
             up.state.power_saving = false;
             woken.state.powering_up = true;
             published.record.root = "0123456789abcdef";
             asked.record.want = Want{};
             bare.record.revision.clear();
             for (const auto* other : {&up, &woken, &published, &asked, &bare})
                 unit::expect(!has_promise(*other), "no promise");
             unit::expect(is_asleep(bare) && !is_asleep(published), "asleep without a label");
         }},
        {"the promise is of the image that the node is to have now",
         [] {
             PowerBench b;
             std::string asked;
             const auto label = promised_label(
                 *b.journal, b.settings, "n1", [&](const std::string& id) -> Result<ImageState> {
                     asked = id;
                     return ImageState{"image-2", "v2", "lab/v2", true, ""};
                 });
             unit::expect_equal(asked, std::string("v2"));
             unit::expect_equal(label.value_or(""),
                                ImageState{"image-2", "v2", "lab/v2", true, ""}.label());
             const ImageState bare{"image-2", "v2", "", true, ""};
             unit::expect(bare.label() != *label && bare.label().starts_with("rev_"), "by its id");
             b.write("flavor_id: small\n");
             unit::expect(!promised_label(*b.journal, b.settings, "n1",
                                          [&](const std::string&) -> Result<ImageState> {
                                              return ImageState{};
                                          }),
                          "nothing is promised of no image");
         }},
        {"a node without a label gets none",
         [] {
             PowerBench b;
             b.cloud.all = {machine("made-1")};
             b.desk.record = {};
             fake::expect_outcome(b.suspend(), Outcome::ok);
             unit::expect(b.desk.record.revision.empty(), "none");
         }},
        {"one that is not ours stays",
         [] {
             PowerBench b;
             b.cloud.all = {machine("other", ""), machine("made-1")};
             fake::expect_outcome(b.suspend(), Outcome::ok);
             unit::expect_equal(b.cloud.removed.size(), std::size_t{1});
             unit::expect_equal(b.cloud.all.at(0).id, std::string("other"));
         }},
        {"nothing there is nothing to do",
         [] {
             PowerBench b;
             fake::expect_outcome(b.suspend(), Outcome::ok);
             unit::expect(!*b.journal->latest_attempt("n1"), "no attempt");
         }},
        {"one that stays is a failure on record, and the node is not touched",
         [] {
             PowerBench b;
             b.limit = 400ms;
             b.cloud.all = {machine("made-1")};
             b.cloud.stays = true;
             fake::expect_outcome(b.suspend(), Outcome::failed);
             unit::expect(b.desk.out_reason.empty(), b.desk.out_reason);
             unit::expect_contains(b.last().reason, "not gone yet");
         }},
        {"a node that Slurm gave up: half a machine is removed and the reason said",
         [] {
             PowerBench b;
             auto half = machine("made-1");
             half.status = "BUILD";
             b.cloud.all = {half};
             b.left("create", Outcome::unsure, Phase::following);
             fake::expect_outcome(b.failed(), Outcome::failed);
             unit::expect(b.cloud.all.empty(), "gone");
             unit::expect_contains(b.desk.out_reason, "not up within ResumeTimeout");
             unit::expect_contains(b.desk.out_reason, "made-1 was BUILD");
             unit::expect_equal(*b.journal->failed_in_row("n1", "create"), 1);
         }},
        {"what a killed process left: made, under way, never come, removed",
         [] {
             PowerBench b;
             const auto adopt = [&](Attempt attempt) {
                 const auto c = b.context_with(b.cloud);
                 return adopt_power_attempt(c, std::move(attempt));
             };
             const auto fresh = b.left("create", Outcome::open, Phase::posting);
             fake::expect_outcome(adopt(fresh), Outcome::open);
             fake::expect_outcome(adopt(b.left("create", Outcome::open, Phase::posting, 1000)),
                                  Outcome::untouched);
             fake::expect_outcome(adopt(b.left("delete", Outcome::open, Phase::following)),
                                  Outcome::ok);
             b.cloud.all = {machine("made-1")};
             fake::expect_outcome(adopt(fresh), Outcome::ok);
             fake::expect_outcome(adopt(b.left("delete", Outcome::open, Phase::following)),
                                  Outcome::failed);
         }},
        {"a back end that makes no machines says so",
         [] {
             PowerBench b;
             Settings settings;
             settings.backend_command = "/bin/true {node}";
             RebootBackend backend(settings);
             const auto c = b.context_with(backend);
             fake::expect_outcome(resume_node(c, "n1"), Outcome::failed);
             unit::expect_contains(b.desk.out_reason, "makes no machines");
         }},
    };
}

}  // namespace

int main() {
    auto all = resume_rules();
    for (auto& rule : suspend_rules()) all.push_back(std::move(rule));
    return unit::run("power", std::move(all));
}
