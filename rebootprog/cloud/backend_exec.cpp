// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/backend_exec.hpp"

#include <random>

#include <fmt/core.h>

#include "common/text.hpp"
#include "rebootprog/site/site_command.hpp"

namespace cohort {
namespace {

constexpr int exit_unknown_verb = 64;  // sysexits(3): EX_USAGE
constexpr int exit_no_such = 66;       // EX_NOINPUT
constexpr int exit_unreachable = 69;   // EX_UNAVAILABLE
constexpr int exit_busy = 75;          // EX_TEMPFAIL
constexpr std::size_t most_list_bytes = std::size_t{8} << 20;

std::string node_of(const std::string& server) {
    return server.substr(0, server.find('/'));
}

std::string instance_of(const std::string& server) {
    const auto slash = server.find('/');
    return slash == std::string::npos ? std::string() : server.substr(slash + 1);
}

Result<Json> last_object(const std::string& output, const std::string& name) {
    std::string last;
    for (const auto& line : text::split(output, '\n'))
        if (!text::trim(line).empty()) last = line;
    if (last.empty()) return json::object();
    auto value = json::parse(last, name);
    if (value && !json_is_object(value->get()))
        return fail(Errc::unreachable, name + " is not a JSON object");
    if (!value) return fail(Errc::unreachable, value.error().message);
    return value;
}

ServerState server_from(const json_t* j, const std::string& id) {
    ServerState server;
    server.id = id;
    server.name = node_of(id);
    server.status = json::string(j, "status");
    if (server.status.empty()) server.status = "ACTIVE";
    server.task_state = json::string(j, "task");
    server.image = json::string(j, "image");
    server.locked = json::boolean(j, "locked", false);
    server.locked_reason = text::one_line(json::string(j, "locked_reason"), 200);
    server.fault = last_words(json::string(j, "fault"));
    return server;
}

ActionState action_from(const json_t* j, const std::string& request) {
    ActionState action;
    action.request = json::string(j, "request");
    if (action.request.empty()) action.request = request;
    action.finished = json::boolean(j, "finished", false);
    action.succeeded = json::boolean(j, "ok", false);
    action.message = last_words(json::string(j, "message"));
    action.began = json::integer(j, "began").value_or(0);
    return action;
}

const char* verb_of(Request request) {
    switch (request) {
        case Request::soft_reboot:
            return "soft-reboot";
        case Request::hard_reboot:
            return "hard-reboot";
        case Request::start:
            return "start";
        case Request::unlock:
            return "unlock";
        default:
            return "rebuild";
    }
}

}  // namespace

std::string CommandBackend::new_request() {
    std::random_device random;
    return fmt::format("cohort-{:08x}{:08x}", random(), random());
}

void CommandBackend::keep(ActionState ended) {
    const std::lock_guard lock(mutex_);
    ended_[ended.request] = std::move(ended);
}

Result<ActionState> CommandBackend::action(const std::string&, const std::string& request) {
    const std::lock_guard lock(mutex_);
    const auto known = ended_.find(request);
    if (known != ended_.end()) return known->second;
    return fail(Errc::not_found, fmt::format("nothing is known of request {}", request));
}

Result<std::string> CommandBackend::call(const Call& call) {
    auto argv = fill_in(command_, {{"verb", call.verb},
                                   {"node", node_of(call.server)},
                                   {"server", instance_of(call.server)},
                                   {"image", call.image},
                                   {"request", call.request}});
    if (!argv) return tl::unexpected(argv.error());
    const std::string what = fmt::format("{} ({})", argv->front(), call.verb);
    auto end = run_site_command(*argv, limit_, call.most_bytes);
    if (!end) return tl::unexpected(end.error());
    if (end->exit_status == 0) return std::move(end->output);
    const Errc broken = call.changes ? Errc::unsure : Errc::unreachable;
    if (end->timed_out)
        return fail(broken,
                    fmt::format("{} did not end within {} s (BackendTime)", what, limit_.count()));
    if (end->too_much)
        return fail(broken, fmt::format("{} wrote more than {} bytes", what, call.most_bytes));
    if (end->signal != 0)
        return fail(broken, fmt::format("{} was killed by signal {}", what, end->signal));
    std::string words = last_words(end->errors);
    if (words.empty()) words = "no reason given on standard error";
    const std::string sentence = fmt::format("{}: {} (exit {})", what, words, end->exit_status);
    switch (end->exit_status) {
        case exit_unknown_verb:
            return fail(Errc::invalid, sentence);
        case exit_no_such:
            return fail(Errc::not_found, sentence);
        case exit_unreachable:
            return fail(Errc::unreachable, sentence);
        case exit_busy:
            return fail(Errc::busy, sentence);
        default:
            return fail(Errc::failed, sentence);
    }
}

// Backend=exec.
Result<Json> ExecBackend::ask(const Call& question) {
    const auto output = call(question);
    if (!output) return tl::unexpected(output.error());
    return last_object(*output, fmt::format("the answer to '{}'", question.verb));
}

Status ExecBackend::probe() {
    const auto answered = call({.verb = "probe", .server = "", .image = "", .request = ""});
    if (!answered && answered.error().code != Errc::invalid)
        return tl::unexpected(answered.error());
    return {};
}

Result<ServerState> ExecBackend::state_of(const std::string& server) {
    const auto answer = ask({.verb = "state", .server = server, .image = "", .request = ""});
    if (!answer) return tl::unexpected(answer.error());
    return server_from(answer->get(), server);
}

Result<ServerState> ExecBackend::server(const Target& target) {
    // Followed by its id, or looked for by what the desired file says.
    if (target.server.starts_with(target.node + "/") || target.server == target.node)
        return state_of(target.server);
    return state_of(target.server.empty() ? target.node : target.node + "/" + target.server);
}

Result<std::vector<ServerState>> ExecBackend::servers() {
    const auto output = call(
        {.verb = "list", .server = "", .image = "", .request = "", .most_bytes = most_list_bytes});
    if (!output) return tl::unexpected(output.error());
    std::vector<ServerState> all;
    for (const auto& line : text::split(*output, '\n')) {
        if (text::trim(line).empty()) continue;
        const auto object = json::parse(line, "a line of the answer to 'list'");
        // A list that is understood in part would show machines as lost.
        if (!object) return fail(Errc::unreachable, object.error().message);
        const std::string node = json::string(object->get(), "node");
        if (node.empty()) return fail(Errc::unreachable, "a line of 'list' names no node");
        all.push_back(server_from(object->get(), node));
    }
    return all;
}

Result<ImageState> ExecBackend::image(const std::string& id_or_name) {
    ImageState image;
    image.id = image.name = id_or_name;
    image.usable = true;
    const auto answer = ask({.verb = "image", .server = "", .image = id_or_name, .request = ""});
    // A command that has no such verb takes every image.
    if (!answer && answer.error().code == Errc::invalid) return image;
    if (!answer) return tl::unexpected(answer.error());
    const json_t* j = answer->get();
    if (auto id = json::string(j, "id"); !id.empty()) image.id = std::move(id);
    if (auto name = json::string(j, "name"); !name.empty()) image.name = std::move(name);
    image.stamp = json::string(j, "stamp");
    image.usable = json::boolean(j, "usable", true);
    if (!image.usable) image.why_not = last_words(json::string(j, "why"));
    return image;
}

Result<std::string> ExecBackend::send(Request request, const std::string& server,
                                      const std::string& image) {
    const std::string id = new_request();
    const auto output = call({.verb = verb_of(request),
                              .server = server,
                              .image = image,
                              .request = id,
                              .changes = true});
    if (!output) return tl::unexpected(output.error());
    const auto answer = last_object(*output, fmt::format("the answer to '{}'", verb_of(request)));
    if (!answer) return fail(Errc::unsure, answer.error().message);
    ActionState state = action_from(answer->get(), id);
    const std::string known = state.request;
    if (state.finished) keep(std::move(state));
    return known;
}

Result<ActionState> ExecBackend::action(const std::string& server, const std::string& request) {
    if (auto ended = CommandBackend::action(server, request)) return ended;
    const auto answer = ask({.verb = "result", .server = server, .image = "", .request = request});
    if (answer) return action_from(answer->get(), request);
    if (answer.error().code != Errc::invalid) return tl::unexpected(answer.error());
    return judged_by_state(server, request);
}

// A command without `result`: what the machine shows is all there is.
Result<ActionState> ExecBackend::judged_by_state(const std::string& server,
                                                 const std::string& request) {
    const auto now = state_of(server);
    if (!now) return tl::unexpected(now.error());
    ActionState action{request, false, false, {}, 0};
    if (!now->task_state.empty()) return action;
    action.succeeded = now->status == "ACTIVE" || now->status == "SHUTOFF";
    action.finished = action.succeeded || now->status == "ERROR";
    if (!action.succeeded) action.message = now->fault;
    return action;
}

Result<std::optional<ActionState>> ExecBackend::newest_action(const std::string& server,
                                                              const std::string& action,
                                                              std::int64_t since) {
    const auto answer = ask({.verb = "result", .server = server, .image = "", .request = ""});
    if (!answer && answer.error().code == Errc::not_found) return std::optional<ActionState>();
    if (!answer && answer.error().code == Errc::invalid) {
        auto judged = judged_by_state(server, "");
        if (!judged) return tl::unexpected(judged.error());
        // It may have run and ended: whoever asks must not take silence for "never came".
        if (judged->finished)
            return fail(Errc::failed, "the command cannot tell what it did: it has no 'result'");
        return std::optional<ActionState>(std::move(*judged));
    }
    if (!answer) return tl::unexpected(answer.error());
    ActionState newest = action_from(answer->get(), "");
    if (newest.began < since || json::string(answer->get(), "action") != action)
        return std::optional<ActionState>();
    return std::optional<ActionState>(std::move(newest));
}

// Power saving: what a command has for a node is ours.
Result<std::vector<ServerState>> ExecBackend::named(const std::string& node) {
    auto one = state_of(node);
    if (!one && one.error().code == Errc::not_found) return std::vector<ServerState>();
    if (!one) return tl::unexpected(one.error());
    one->owner = node;
    return std::vector<ServerState>{std::move(*one)};
}

Result<MachineMade> ExecBackend::create(const MachineOrder& order) {
    auto made = call({.verb = "create",
                      .server = order.node,
                      .image = order.image,
                      .request = order.mark,
                      .changes = true});
    if (!made) return tl::unexpected(made.error());
    return MachineMade{order.node, order.mark};
}

Status ExecBackend::remove(const std::string& server) {
    auto removed =
        call({.verb = "delete", .server = server, .image = "", .request = new_request()});
    if (!removed && removed.error().code != Errc::not_found) return tl::unexpected(removed.error());
    return {};
}

// Backend=reboot.
Result<ServerState> RebootBackend::server(const Target& target) {
    ServerState server;
    server.id = server.name = target.node;
    server.status = "ACTIVE";
    server.image_known = false;
    return server;
}

Result<std::vector<ServerState>> RebootBackend::servers() {
    return fail(Errc::invalid, "Backend=reboot has no list of machines");
}

Result<ImageState> RebootBackend::image(const std::string&) {
    ImageState none;
    none.usable = true;
    return none;
}

// The command's end is the action's: whether the node boots is Slurm's to see.
Result<std::string> RebootBackend::send(Request request, const std::string& server,
                                        const std::string&) {
    if (request != Request::soft_reboot && request != Request::hard_reboot)
        return fail(Errc::invalid, "Backend=reboot can only reboot");
    const std::string id = new_request();
    auto done = call(
        {.verb = verb_of(request), .server = server, .image = "", .request = id, .changes = true});
    if (!done) return tl::unexpected(done.error());
    keep({id, true, true, {}, 0});
    return id;
}

Result<std::optional<ActionState>> RebootBackend::newest_action(const std::string&,
                                                                const std::string&, std::int64_t) {
    return std::optional<ActionState>();
}

}  // namespace cohort
