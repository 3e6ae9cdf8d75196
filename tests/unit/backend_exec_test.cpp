// SPDX-License-Identifier: GPL-2.0-or-later
//
// Back ends that are a site's own command: how it is run, and what its answers mean.
#include "rebootprog/cloud/backend_exec.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.hpp"
#include "rebootprog/site/site_command.hpp"
#include "tests/unit/attempt_fixture.hpp"

using namespace cohort;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t plenty = 1 << 20;

// A folder with the command `tool`, whose text is a shell script.
struct Tool {
    std::string dir;
    Settings settings;
    explicit Tool(const std::string& script, const std::string& words =
                                                 "{verb} {node} [{server}] "
                                                 "{image} {request}") {
        char pattern[] = "/tmp/cohort-unit-XXXXXX";
        dir = mkdtemp(pattern);
        std::ofstream(path()) << "#!/bin/sh\ncd " << dir << "\nprintf '%s\\n' \"$*\" >>calls\n"
                              << script;
        ::chmod(path().c_str(), 0700);
        settings.backend_command = path() + " " + words;
        settings.backend_time = 5s;
    }
    ~Tool() { (void)!std::system(("rm -rf " + dir).c_str()); }
    std::string path() const { return dir + "/tool"; }
    std::string calls() const {
        std::ifstream file(dir + "/calls");
        return {std::istreambuf_iterator<char>(file), {}};
    }
};

CommandEnd run(const std::string& script, std::chrono::seconds limit = 10s,
               std::size_t most = plenty) {
    auto end = run_site_command({"/bin/sh", "-c", script}, limit, most);
    unit::expect(end.has_value(), end ? "" : end.error().message);
    return std::move(*end);
}

void expect_code(const Error& error, Errc code, const std::string& words) {
    unit::expect(error.code == code, error.message);
    unit::expect_contains(error.message, words);
}

ServerState state_of(const std::string& answer) {
    Tool tool("echo '" + answer + "'\n");
    auto state = ExecBackend(tool.settings).server({"n1", "", ""});
    unit::expect(state.has_value(), state ? "" : state.error().message);
    return std::move(*state);
}

std::vector<unit::Rule> run_rules() {
    return {
        {"both outputs and the exit status",
         [] {
             const auto end = run("echo a; echo b >&2; exit 7");
             unit::expect_equal(end.output, std::string("a\n"));
             unit::expect_equal(end.errors, std::string("b\n"));
             unit::expect_equal(end.exit_status, 7);
         }},
        {"no descriptor, variable or signal mask of ours goes along",
         [] {
             const int leaked = ::open("/dev/null", O_RDONLY);  // without CLOEXEC
             ::setenv("OS_PASSWORD", "hunter2", 1);
             const auto end = run("ls /proc/self/fd | wc -l; env; grep SigBlk /proc/self/status");
             ::close(leaked);
             unit::expect_contains(end.output, "4\n");  // 0, 1, 2 and ls' own
             unit::expect(end.output.find("hunter2") == std::string::npos, end.output);
             unit::expect_contains(end.output, "SigBlk:\t0000000000000000");
         }},
        {"its time is limited, and what it started ends with it",
         [] {
             const auto begin = std::chrono::steady_clock::now();
             const auto end = run("sleep 300 & echo $!; wait", 1s);
             unit::expect(end.timed_out && !end.ended(), "timed out");
             unit::expect(std::chrono::steady_clock::now() - begin < 60s, "at once");
             const pid_t child = static_cast<pid_t>(std::stol(end.output));
             for (int i = 0; i < 200 && ::kill(child, 0) == 0; ++i)
                 std::this_thread::sleep_for(50ms);
             unit::expect(::kill(child, 0) != 0, "the child is gone");
         }},
        {"a child that goes on does not keep us",
         [] {
             const auto end = run("sleep 20 & echo $!", 10s);
             unit::expect_equal(end.exit_status, 0);
             ::kill(static_cast<pid_t>(std::stol(end.output)), SIGKILL);
         }},
        {"what it writes is limited",
         [] {
             const auto end = run("yes", 10s, 10000);
             unit::expect(end.too_much && !end.ended(), "killed");
         }},
        {"of standard error the end is kept",
         [] {
             const auto end = run("yes x | head -c 300000 >&2; echo last >&2", 10s, 100);
             unit::expect(end.ended() && end.errors.size() <= 4096, "shortened");
             unit::expect(end.errors.ends_with("x\nlast\n"), "its end");
         }},
        {"a signal is told from an exit", [] { unit::expect_equal(run("kill -9 $$").signal, 9); }},
        {"a program that is not there: nothing has happened",
         [] {
             expect_code(run_site_command({"/nonexistent"}, 1s, plenty).error(), Errc::unreachable,
                         "cannot be started");
         }},
        {"a value is one word, whatever it holds",
         [] {
             const auto words =
                 fill_in("/x {node} a={image}b {server}",
                         {{"node", "n1"}, {"image", "x; rm -rf {node}"}, {"server", ""}});
             unit::expect_equal(text::join(*words, "|"), std::string("/x|n1|a=x; rm -rf {node}b|"));
         }},
        {"a value that would be an option is refused",
         [] {
             unit::expect(!fill_in("/x {image}", {{"image", "--help"}}), "refused");
             unit::expect(fill_in("/x i={image}", {{"image", "--help"}}).has_value(), "taken");
             unit::expect(!fill_in("/x i={image}", {{"image", "a\nb"}}), "refused");
         }},
        {"a secret in its last words is not repeated",
         [] {
             unit::expect_equal(last_words("a\nlast words\n\n"), std::string("last words"));
             for (const char* text :
                  {"password=hunter2", "token: hunter2", "Authorization: Bearer hunter2 x",
                   "the secret hunter2 is wrong", "{\"access_token\":\"hunter2\"}"})
                 unit::expect(last_words(text).find("hunter2") == std::string::npos,
                              last_words(text));
         }},
    };
}

std::vector<unit::Rule> exec_rules() {
    return {
        {"state: what the machine is, and where it was asked about",
         [] {
             Tool tool("echo some words; echo '{\"status\":\"ACTIVE\",\"image\":\"v1\"}'\n");
             const auto state = ExecBackend(tool.settings).server({"n1", "17", ""});
             unit::expect_equal(state->id, std::string("n1/17"));
             unit::expect_equal(state->image, std::string("v1"));
             unit::expect_equal(tool.calls(), std::string("state n1 [17]  \n"));
             unit::expect_equal(ExecBackend(tool.settings).server({"n1", "n1/17", ""})->id,
                                std::string("n1/17"));
         }},
        {"state: every key, and what is absent",
         [] {
             const auto state = state_of(
                 R"({"status":"ERROR","task":"rebuilding","locked":true,"fault":"disk full"})");
             unit::expect_equal(state.status + " " + state.task_state + " " + state.fault,
                                std::string("ERROR rebuilding disk full"));
             unit::expect(state.locked && state.image_known, "flags");
             unit::expect_equal(state_of("{}").status, std::string("ACTIVE"));
         }},
        {"exit codes: what a question's end means",
         [] {
             const std::pair<const char*, Errc> table[] = {
                 {"exit 1", Errc::failed},        {"exit 64", Errc::invalid},
                 {"exit 66", Errc::not_found},    {"exit 69", Errc::unreachable},
                 {"exit 75", Errc::busy},         {"kill -9 $$", Errc::unreachable},
                 {"sleep 9", Errc::unreachable},  {"echo '{'", Errc::unreachable},
                 {"echo '[]'", Errc::unreachable}};
             for (const auto& [script, code] : table) {
                 Tool tool(std::string("echo why >&2\n") + script + "\n");
                 tool.settings.backend_time = 2s;
                 const auto state = ExecBackend(tool.settings).server({"n1", "", ""});
                 unit::expect(!state && state.error().code == code, script);
             }
         }},
        {"a request that breaks off may have been taken",
         [] {
             for (const char* script : {"kill -9 $$", "sleep 9", "echo '{'", "yes"}) {
                 Tool tool(std::string(script) + "\n");
                 tool.settings.backend_time = 2s;
                 const auto sent = ExecBackend(tool.settings).send(Request::rebuild, "n1", "v2");
                 unit::expect(!sent && sent.error().code == Errc::unsure, script);
             }
             Tool tool("echo no room >&2; exit 1\n");
             expect_code(ExecBackend(tool.settings).send(Request::rebuild, "n1", "v2").error(),
                         Errc::failed, "no room (exit 1)");
         }},
        {"a command that works to the end is asked no more",
         [] {
             Tool tool("echo '{\"finished\":true,\"ok\":false,\"message\":\"no host\"}'\n");
             ExecBackend backend(tool.settings);
             const auto request = backend.send(Request::rebuild, "n1/17", "v2");
             unit::expect_equal(tool.calls(), "rebuild n1 [17] v2 " + *request + "\n");
             const auto end = backend.action("n1/17", *request);
             unit::expect(end->finished && !end->succeeded, "failed");
             unit::expect_equal(end->message, std::string("no host"));
         }},
        {"result: followed by our request id, or by its own",
         [] {
             Tool tool(
                 "case $1 in rebuild) echo '{\"request\":\"job-5\"}';;\n"
                 "result) echo \"{\\\"finished\\\":true,\\\"ok\\\":true}\";; esac\n");
             ExecBackend backend(tool.settings);
             unit::expect_equal(*backend.send(Request::rebuild, "n1", "v2"), std::string("job-5"));
             unit::expect(backend.action("n1", "job-5")->succeeded, "ended");
             unit::expect_contains(tool.calls(), "result n1 []  job-5\n");
         }},
        {"without result: the machine's state tells",
         [] {
             const std::pair<const char*, std::string> table[] = {
                 {"{\"task\":\"rebuilding\"}", "running"},
                 {"{\"status\":\"REBUILD\"}", "running"},
                 {"{\"status\":\"ACTIVE\"}", "ok"},
                 {"{\"status\":\"ERROR\",\"fault\":\"x\"}", "failed: x"}};
             for (const auto& [answer, wanted] : table) {
                 Tool tool(std::string("[ $1 = state ] || exit 64\necho '") + answer + "'\n");
                 const auto end = ExecBackend(tool.settings).action("n1", "r");
                 unit::expect_equal(!end->finished   ? "running"
                                    : end->succeeded ? "ok"
                                                     : "failed: " + end->message,
                                    wanted);
             }
         }},
        {"the newest action: only a later one of that name; silence is not 'never'",
         [] {
             Tool tool("echo '{\"request\":\"r9\",\"action\":\"rebuild\",\"began\":100}'\n");
             ExecBackend backend(tool.settings);
             unit::expect_equal((*backend.newest_action("n1", "rebuild", 100))->request,
                                std::string("r9"));
             unit::expect(!*backend.newest_action("n1", "rebuild", 101), "older");
             unit::expect(!*backend.newest_action("n1", "reboot", 100), "another");
             Tool mute("[ $1 = state ] || exit 64\n");
             unit::expect(!ExecBackend(mute.settings).newest_action("n1", "rebuild", 100), "error");
         }},
        {"image: taken as written, or as the command says",
         [] {
             Tool plain("exit 64\n");
             const auto image = ExecBackend(plain.settings).image("golden");
             unit::expect(image->usable && image->id == "golden" && image->stamp.empty(), "plain");
             Tool tool(
                 "echo '{\"id\":\"7\",\"stamp\":\"lab/v2\",\"usable\":false,\"why\":\"gone\"}'\n");
             const auto told = ExecBackend(tool.settings).image("golden");
             unit::expect_equal(told->id + told->stamp + told->why_not, std::string("7lab/v2gone"));
         }},
        {"list: one object a line; a damaged line spoils it all",
         [] {
             Tool tool("echo '{\"node\":\"n1\"}'\necho '{\"node\":\"n2\",\"image\":\"v1\"}'\n");
             const auto all = ExecBackend(tool.settings).servers();
             unit::expect_equal(all->at(1).name + all->at(1).image, std::string("n2v1"));
             Tool broken("echo '{\"node\":\"n1\"}'\necho '{\"node\":'\n");
             unit::expect(!ExecBackend(broken.settings).servers(), "refused");
         }},
        {"a whole attempt: rebuilt, and the node told",
         [] {
             fake::Bench bench;
             Tool tool(
                 "case $1 in\nstate) echo '{\"image\":\"v1\"}';;\n"
                 "image) echo '{\"stamp\":\"lab/v2\"}';;\n"
                 "rebuild) exit 0;;\nresult) echo '{\"finished\":true,\"ok\":true}';; esac\n");
             ExecBackend backend(tool.settings);
             auto context = bench.context_with(backend);
             fake::expect_outcome(run_attempt(context, "n1"), Outcome::ok);
             unit::expect_equal(bench.desk.record.want->stamp, std::string("lab/v2"));
             unit::expect(bench.desk.record.want->succeeded(), "ok");
         }},
    };
}

std::vector<unit::Rule> reboot_rules() {
    return {
        {"it reboots, knows no image, and says so",
         [] {
             fake::Bench bench;
             Tool tool("", "-n {node} {verb}");
             RebootBackend backend(tool.settings);
             (void)!std::system(
                 ("rm " + bench.dir + "/n1.yml").c_str());  // no desired file is needed
             auto context = bench.context_with(backend);
             fake::expect_outcome(run_attempt(context, "n1"), Outcome::ok);
             unit::expect_equal(tool.calls(), std::string("-n n1 soft-reboot\n"));
             const auto want = *bench.desk.record.want;
             unit::expect_equal(want.image + want.stamp, std::string());
             unit::expect_equal(want.action + " " + want.revision + " " + want.from,
                                std::string("reboot rev_0123456789abcdef rev_0123456789abcdef"));
             const auto decision = decide(*backend.server({"n1", "", ""}), "", {});
             unit::expect_contains(decision.why, "no image is compared");
         }},
        {"its failure is the node's",
         [] {
             fake::Bench bench;
             Tool tool("echo BMC does not answer >&2; exit 1\n");
             RebootBackend backend(tool.settings);
             auto context = bench.context_with(backend);
             fake::expect_outcome(run_attempt(context, "n1"), Outcome::failed);
             unit::expect_contains(bench.desk.out_reason, "BMC does not answer");
         }},
        {"out of reach is tried again, and the node given back untouched in the end",
         [] {
             fake::Bench bench;
             bench.limit = 800ms;
             Tool tool("exit 69\n");
             RebootBackend backend(tool.settings);
             auto context = bench.context_with(backend);
             fake::expect_outcome(run_attempt(context, "n1"), Outcome::untouched);
             unit::expect(bench.cloud_faults > 0, "told");
             unit::expect_equal(bench.desk.record.revision, std::string("rev_0123456789abcdef"));
         }},
        {"it can do nothing else",
         [] {
             Tool tool("");
             unit::expect(!RebootBackend(tool.settings).send(Request::rebuild, "n1", "v2"), "no");
             unit::expect_equal(tool.calls(), std::string());
         }},
    };
}

}  // namespace

int main() {
    auto all = run_rules();
    for (auto* more : {exec_rules, reboot_rules})
        for (auto& rule : more()) all.push_back(std::move(rule));
    return unit::run("backend_exec", std::move(all));
}
