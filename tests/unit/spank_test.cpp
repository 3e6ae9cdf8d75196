// SPDX-License-Identifier: GPL-2.0-or-later
//
// The SPANK plugin's core: arguments, injection, gate, and what a step remembers.
#include <string>
#include <vector>

#include "common/published.hpp"
#include "plugins/spank/arguments.hpp"
#include "plugins/spank/gate.hpp"
#include "plugins/spank/injection.hpp"
#include "plugins/spank/step.hpp"
#include "tests/unit/profile_fixture.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using namespace cohort::spank;
using unit::Scratch;

namespace {

const std::string flox = "/flox/env/bin:/flox/env/sbin";
const std::string base = Arguments{}.base_path;

std::string path_of(const std::vector<Change>& changes) {
    for (const auto& [name, value] : changes)
        if (name == "PATH") return value;
    return "(unset)";
}

struct PathRow {
    const char* words;
    Order order;
    std::optional<std::string> current;
    std::string wanted;
};

std::vector<unit::Rule> path_rules() {
    const std::string long_path = "/" + std::string(20000, 'l');
    const PathRow rows[] = {
        {"unset, prepend: the profile's, then base_path", Order::prepend, std::nullopt,
         flox + ":" + base},
        {"unset, append: base_path, then the profile's", Order::append, std::nullopt,
         base + ":" + flox},
        {"empty counts as unset", Order::prepend, "", flox + ":" + base},
        {"only empty entries count as unset", Order::prepend, ":::", flox + ":" + base},
        {"a module's PATH keeps its order", Order::prepend, "/opt/m/bin:/usr/bin",
         flox + ":/opt/m/bin:/usr/bin"},
        {"append leaves it in front", Order::append, "/opt/m/bin:/usr/bin",
         "/opt/m/bin:/usr/bin:" + flox},
        {"empty entries vanish", Order::prepend, ":/usr/bin::/bin:", flox + ":/usr/bin:/bin"},
        {"doubles vanish, the first stays", Order::prepend, "/a:/b:/a", flox + ":/a:/b"},
        {"a second injection changes nothing", Order::prepend, flox + ":/usr/bin",
         flox + ":/usr/bin"},
        {"a module in front of the first injection falls behind again", Order::prepend,
         "/m:" + flox, flox + ":/m"},
        {"append twice changes nothing", Order::append, "/usr/bin:" + flox, "/usr/bin:" + flox},
        {"20,000 characters are kept", Order::prepend, long_path, flox + ":" + long_path},
        {"an entry with blanks is kept", Order::prepend, " /a b:/c", flox + ": /a b:/c"},
        {"a newline is only a character", Order::prepend, "/a\n:/b", flox + ":/a\n:/b"},
        {"one colon after the profile's is no empty entry", Order::append, ":/x", "/x:" + flox},
    };
    std::vector<unit::Rule> rules;
    for (const auto& row : rows)
        rules.push_back({fmt::format("PATH: {}", row.words), [row] {
                             Arguments arguments;
                             arguments.order = row.order;
                             const auto changes =
                                 compose(unit::sample_profile(), arguments, row.current);
                             unit::expect_equal(path_of(changes), row.wanted);
                             const auto again =
                                 compose(unit::sample_profile(), arguments, path_of(changes));
                             unit::expect_equal(path_of(again), row.wanted);
                         }});
    return rules;
}

Arguments arguments_of(std::initializer_list<std::string_view> words) {
    auto parsed = parse_arguments(words);
    unit::expect(parsed.has_value(), parsed ? "" : parsed.error().message);
    return *parsed;
}

std::vector<unit::Rule> argument_rules() {
    return {
        {"arguments: none are the defaults",
         [] {
             const auto a = arguments_of({});
             unit::expect(a.profile_required && a.skip_containers && !a.order, "defaults");
             unit::expect_equal(a.profile_dir, std::string("/run/flox-task-profile"));
         }},
        {"arguments: each is taken",
         [] {
             const auto a =
                 arguments_of({"profile=off", "profile_dir=/p", "path=append", "base_path=/a:/b",
                               "containers=inject", "expect_revision=rev_0123456789abcdef",
                               "stamp_file=/etc/stamp"});
             unit::expect(!a.profile_required && !a.skip_containers && a.order == Order::append,
                          "taken");
             unit::expect(
                 a.profile_dir == "/p" && a.base_path == "/a:/b" && a.stamp_file == "/etc/stamp",
                 "taken");
         }},
        {"arguments: anything else is refused by name, with what it expects",
         [] {
             const std::pair<const char*, const char*> bad[] = {
                 {"profile", "not key=value"},
                 {"", "not key=value"},
                 {"profiles=off", "did you mean profile="},
                 {"xyzzy=1", "see spank_cohort(8)"},
                 {"profile=maybe", "required or off"},
                 {"profile=", "required or off"},
                 {"profile_dir=run", "absolute"},
                 {"profile_dir=/run/../etc", "absolute"},
                 {"path=first", "prepend or append"},
                 {"base_path=", "directories"},
                 {"base_path=/a::/b", "directories"},
                 {"base_path=bin", "directories"},
                 {"base_path=/a:", "directories"},
                 {"containers=no", "skip or inject"},
                 {"expect_revision=v2", "hexadecimal"},
                 {"expect_revision=REV_0123456789abcdef", "hexadecimal"},
                 {"stamp_file=x", "absolute"},
                 {"=x", "is not known"}};
             for (const auto& [word, sentence] : bad) {
                 const auto parsed = parse_arguments({word});
                 unit::expect(!parsed.has_value(), word);
                 unit::expect_contains(parsed.error().message, sentence);
                 unit::expect_contains(parsed.error().message, "plugstack.conf");
             }
             unit::expect_contains(parse_arguments({"path=append", "path=append"}).error().message,
                                   "twice");
         }},
    };
}

// A node on which everything is in order.
View good_view() {
    View view;
    view.profile = unit::sample_profile();
    view.boot_id = "boot-1";
    view.published = Published{unit::sample_profile().revision(), "req", "boot-1", ""};
    return view;
}

View stamped_view(const std::string& stamp, const std::string& published_stamp) {
    View view;
    view.boot_id = "boot-1";
    view.stamp = stamp;
    view.published = Published{revision_name_of_stamp("lab/v1"), "req", "boot-1", published_stamp};
    return view;
}

void expect_refused(const Arguments& arguments, const View& view, const char* sentence) {
    const auto verdict = judge(arguments, view);
    unit::expect(!verdict.has_value(), sentence);
    unit::expect_contains(verdict.error().message, sentence);
}

std::vector<unit::Rule> gate_rules() {
    return {
        {"gate: a sealed revision that was published in this boot passes",
         [] {
             unit::expect_equal(judge({}, good_view()).value_or(""),
                                unit::sample_profile().revision());
         }},
        {"gate: a bad profile, another revision, an earlier boot, nothing published are refused",
         [] {
             auto view = good_view();
             view.profile = cohort::fail(Errc::invalid, "/p: vars is missing");
             expect_refused({}, view, "vars is missing");
             view = good_view();
             view.published->revision = "rev_0000000000000000";
             expect_refused({}, view, "published was rev_0000000000000000");
             view = good_view();
             view.published->boot_id = "boot-0";
             expect_refused({}, view, "earlier boot");
             view = good_view();
             view.published = cohort::fail(Errc::not_found, "none");
             expect_refused({}, view, "published no revision");
             view.published = cohort::fail(Errc::invalid, "published names no revision");
             expect_refused({}, view, "names no revision");
         }},
        {"gate: expect_revision is the only one that may run, and stands in for what is published",
         [] {
             const auto mine = unit::sample_profile();
             auto view = good_view();
             const std::string name_word = "expect_revision=" + mine.revision();
             const std::string hash_word = "expect_revision=" + mine.hash;
             unit::expect(judge(arguments_of({name_word}), view).has_value(), "name");
             unit::expect(judge(arguments_of({hash_word}), view).has_value(), "hash");
             expect_refused(arguments_of({"expect_revision=rev_0000000000000000"}), view,
                            "plugstack.conf expects");
             view.published = cohort::fail(Errc::not_found, "none");
             unit::expect(judge(arguments_of({hash_word}), view).has_value(), "not published");
             view = good_view();
             view.published->revision = "rev_0000000000000000";
             expect_refused(arguments_of({hash_word}), view, "published was");
         }},
        {"gate: path= must agree with the sealed precedence",
         [] {
             unit::expect(judge(arguments_of({"path=prepend"}), good_view()).has_value(), "same");
             expect_refused(arguments_of({"path=append"}), good_view(),
                            "the sealed profile prepend");
         }},
        {"gate: profile=off compares the image's stamp with the published one",
         [] {
             const auto off = arguments_of({"profile=off"});
             unit::expect_equal(judge(off, stamped_view("lab/v1", "lab/v1")).value_or(""),
                                revision_name_of_stamp("lab/v1"));
             expect_refused(off, stamped_view("lab/v2", "lab/v1"), "stamp is 'lab/v2'");
             expect_refused(off, stamped_view("", "lab/v1"), "stamp is ''");
             auto view = stamped_view("lab/v1", "lab/v1");
             view.published = cohort::fail(Errc::not_found, "none");
             expect_refused(off, view, "published no revision");
             view.stamp.clear();
             unit::expect(judge(off, view).has_value(), "nothing to compare");
         }},
        {"gate: a job bound to revisions runs on one of them only",
         [] {
             const std::string a = "rev_aaaaaaaaaaaaaaaa", b = "rev_bbbbbbbbbbbbbbbb";
             for (const std::string& fine :
                  {std::string(), std::string("gpu"), a, "[" + a + "|" + b + "]",
                   "gpu&[" + b + "|" + a + "]", "(x|y)&" + a, "prev_" + b, a + "*2",
                   std::string("rev_b"), b + "c"})
                 unit::expect(judge_constraints(a, fine).has_value(), fine);
             for (const std::string& bad : {b, "[" + b + "]", "gpu&" + b})
                 unit::expect(!judge_constraints(a, bad).has_value(), bad);
             unit::expect_contains(judge_constraints(a, b).error().message, "bound to " + b);
         }},
    };
}

// A scratch node: profile and published as wanted.
struct ScratchNode {
    Scratch scratch;
    Places places() const {
        return {{scratch.path + "/run", ::geteuid()}, ::geteuid(), {scratch.path + "/os-release"}};
    }
    void write_profile() const {
        (void)cohort::write_profile(unit::sample_profile(), scratch.profile());
    }
    void publish() const {
        (void)write_published(
            {unit::sample_profile().revision(), "", current_boot_id().value_or(""), ""},
            places().runtime);
    }
    Step step(const char* more = nullptr) const {
        Step made(places());
        const std::string directory = "profile_dir=" + scratch.profile().path;
        std::vector<std::string_view> words{directory};
        if (more) words.emplace_back(more);
        (void)made.configure(words);
        return made;
    }
    bool refused() const { return read_refused(places().runtime).has_value(); }
};

const ContainerSigns plain{false, false, root_directory()};

std::vector<unit::Rule> step_rules() {
    return {
        {"step: a good node passes both gates, injects, and leaves no refusal",
         [] {
             const ScratchNode node;
             node.write_profile();
             node.publish();
             auto step = node.step();
             unit::expect(step.prolog({7, false, ""}).has_value(), "prolog");
             unit::expect(step.task_gate(7).has_value(), "task");
             unit::expect_equal(path_of(step.injection("/usr/bin", plain)), flox + ":/usr/bin");
             unit::expect(!node.refused(), "no refusal");
         }},
        {"step: a bad profile is refused by both gates, injects nothing, and the reason is left",
         [] {
             const ScratchNode node;
             node.write_profile();
             node.publish();
             ::unlink((node.scratch.profile().path + "/vars").c_str());
             auto step = node.step();
             unit::expect(!step.prolog({7, false, ""}), "prolog");
             unit::expect(node.refused(), "reason after the prolog");
             (void)clear_refused(node.places().runtime);
             unit::expect(!step.task_gate(7), "task");
             unit::expect_contains(read_refused(node.places().runtime).value_or(""),
                                   "vars is missing");
             unit::expect(step.injection("/usr/bin", plain).empty(), "nothing injected");
         }},
        {"step: a rebuild job passes both gates on a bad node, another job does not",
         [] {
             const ScratchNode node;
             auto prolog = node.step();
             unit::expect(prolog.prolog({7, true, ""}).has_value(), "prolog");
             auto mine = node.step();
             unit::expect(mine.task_gate(7).has_value() && mine.injection("/x", plain).empty(),
                          "task");
             auto other = node.step();
             unit::expect(!other.task_gate(8), "another job");
             prolog.epilog(7);
             auto later = node.step();
             unit::expect(!later.task_gate(7), "after its epilog");
         }},
        {"step: the profile is read once; later tasks have the first verdict",
         [] {
             const ScratchNode node;
             node.write_profile();
             node.publish();
             auto step = node.step();
             step.look_once(7);
             ::unlink((node.scratch.profile().path + "/vars").c_str());
             unit::expect(step.task_gate(7).has_value(), "still the first");
         }},
        {"step: arguments that are refused close both gates; a rebuild job passes",
         [] {
             const ScratchNode node;
             node.write_profile();
             node.publish();
             auto step = node.step("nonsense=1");
             unit::expect(!step.prolog({7, false, ""}) && !step.task_gate(7), "closed");
             auto rebuild = node.step("nonsense=1");
             unit::expect(
                 rebuild.prolog({9, true, ""}).has_value() && rebuild.task_gate(9).has_value(),
                 "rebuild");
             Step never(node.places());
             unit::expect(!never.task_gate(7), "never initialised");
         }},
        {"step: a job bound to another revision is refused by the prolog",
         [] {
             const ScratchNode node;
             node.write_profile();
             node.publish();
             auto step = node.step();
             unit::expect(!step.prolog({7, false, "[rev_0000000000000000]"}), "refused");
         }},
        {"step: containers keep their own PATH, but not with containers=inject; the check is made "
         "in both",
         [] {
             const ScratchNode node;
             node.write_profile();
             node.publish();
             auto skip = node.step();
             auto inject = node.step("containers=inject");
             unit::expect(skip.task_gate(7).has_value() && inject.task_gate(7).has_value(),
                          "gates");
             const ContainerSigns signs[] = {{true, false, root_directory()},
                                             {false, true, root_directory()},
                                             {false, false, RootDirectory{1, 2}}};
             for (const auto& sign : signs) {
                 unit::expect(skip.injection("/image/bin", sign).empty(), "skip");
                 unit::expect_equal(path_of(inject.injection("/image/bin", sign)),
                                    flox + ":/image/bin");
             }
         }},
        {"injection: variables win over the user's, unset ones are left alone, a profile.d is told",
         [] {
             const auto changes = compose(unit::sample_profile(), {}, "/usr/bin");
             unit::expect_equal(changes.size(), 5U);
             unit::expect(changes[1] == Change("FLOX_TASK_PATH", flox), "path");
             unit::expect(changes[2] == Change("FLOX_TASK_PATH_POLICY", "prepend"), "policy");
             unit::expect(changes[3] == Change("GATK_HOME", "/opt/gatk = é"), "variable");
             unit::expect(changes[4] == Change("TOOL_HOME", ""), "an empty one");
         }},
        {"injection: a profile without PATH entries leaves PATH alone",
         [] {
             Profile plain_vm;
             unit::expect(compose(plain_vm, {}, std::nullopt).empty(), "nothing");
         }},
        {"injection: the sealed precedence holds when plugstack.conf says nothing",
         [] {
             auto profile = unit::sample_profile();
             profile.settings["path_precedence"] = std::string("append");
             unit::expect_equal(path_of(compose(profile, {}, "/usr/bin")), "/usr/bin:" + flox);
         }},
    };
}

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    for (auto make : {path_rules, argument_rules, gate_rules, step_rules})
        for (auto& rule : make()) rules.push_back(std::move(rule));
    return unit::run("spank", std::move(rules));
}
