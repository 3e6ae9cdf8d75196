// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort watch`. On a terminal it draws on the alternate screen, which leaves what was there; the
// last picture stays when it ends. Log lines would tear the picture: they go to syslog and, as
// news, into the picture.
#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/core.h>

#include "common/log.hpp"
#include "rebootprog/rollout/advance.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"
#include "rebootprog/view/view_collect.hpp"
#include "rebootprog/view/view_render.hpp"
#include "rebootprog/view/view_verbs.hpp"

namespace cohort {
namespace {

constexpr char program_name[] = "scohort";
constexpr int events_shown = 4;
constexpr std::int64_t summary_seconds = 60;

volatile std::sig_atomic_t stopped = 0;

void stop(int) {
    stopped = 1;
}

void catch_signals() {
    struct sigaction action {};
    action.sa_handler = stop;  // without SA_RESTART: a signal ends the pause
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

void pause_for(std::chrono::milliseconds time) {
    timespec left{time.count() / 1000, (time.count() % 1000) * 1000000L};
    if (!stopped) ::nanosleep(&left, nullptr);
}

// What was logged last, while a picture is drawn.
std::mutex complaint_mutex;
std::string complaint;

void keep_complaint(log::Level level, std::string_view line) {
    static const log::Sink to_syslog = log::syslog_sink(program_name);
    to_syslog(level, line);
    if (level != log::Level::warning && level != log::Level::error) return;
    const std::lock_guard lock(complaint_mutex);
    complaint = line;
}

Screen screen_now() {
    winsize window{};
    Screen screen;
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 &&
        window.ws_row > 0) {
        screen.width = window.ws_col;
        screen.height = window.ws_row;
    }
    const char* no_colour = std::getenv("NO_COLOR");
    screen.colour = !no_colour || !*no_colour;
    std::setlocale(LC_CTYPE, "");
    screen.unicode = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
    return screen;
}

std::string stamp(std::int64_t at, const char* form) {
    const std::time_t time = at;
    std::tm local{};
    ::localtime_r(&time, &local);
    char text[40];
    return std::string(text, std::strftime(text, sizeof text, form, &local));
}

std::vector<std::string> news_of(const View& view, const Journal& journal) {
    std::vector<std::string> news;
    if (view.rollout)
        if (const auto events = RolloutJournal(journal).events(view.rollout->id, events_shown))
            for (const auto& event : *events)
                news.push_back(stamp(event.at, "%H:%M:%S ") +
                               (event.node.empty() ? "" : event.node + " ") + event.text);
    std::ranges::reverse(news);
    const std::lock_guard lock(complaint_mutex);
    if (!complaint.empty()) news.push_back(complaint);
    return news;
}

class Terminal {
  public:
    Terminal() {
        log::set_sink(keep_complaint);
        std::fputs("\033[?1049h\033[?25l\033[2J", stdout);
    }
    ~Terminal() {
        std::fputs("\033[?25h\033[?1049l", stdout);
        std::printf("%s\n", last_.c_str());
        std::fflush(stdout);
        log::set_sink(log::syslog_and_stderr_sink(program_name));
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    void draw(const View& view, const std::vector<std::string>& news) {
        Screen screen = screen_now();
        last_ = picture_of(view, screen, news);
        std::string out = "\033[H";
        for (const char c : last_) {
            if (c == '\n') out += "\033[K\r";
            out += c;
        }
        std::fputs((out + "\033[K\033[J").c_str(), stdout);
        std::fflush(stdout);
    }

  private:
    std::string last_;
};

class Lines {
  public:
    void draw(const View& view) {
        for (const auto& line : changes_between(before_, view)) say(view.now, line);
        before_ = view;
        if (!view.rollout || view.now < next_summary_) return;
        next_summary_ = view.now + summary_seconds;
        summary(view);
    }
    void summary(const View& view) const {
        const auto lines = headline_of(view, progress_of(view));
        for (const auto& line : lines) say(view.now, line);
    }

  private:
    static void say(std::int64_t at, const std::string& line) {
        std::printf("%s %s\n", stamp(at, "%Y-%m-%dT%H:%M:%S").c_str(), line.c_str());
        std::fflush(stdout);
    }
    View before_;
    std::int64_t next_summary_ = 0;
};

// Only where nobody else is at it: the timer and other watchers take steps too.
void step(const Site& site, Journal& journal) {
    auto lock = lock_advance(site, 0);
    if (lock) take_step(site, journal, "watch", false);
}

bool is_over(const View& view) {
    const auto open = [](const ViewNode& node) { return node.row.open(); };
    return (!view.rollout || !view.rollout->open()) && std::ranges::none_of(view.nodes, open) &&
           std::ranges::none_of(view.others, open);
}

template <class Draw>
int watch_loop(const Site& site, Journal& journal, WatchOptions options, Draw draw) {
    int failures = 0;
    while (!stopped) {
        if (options.advance) step(site, journal);
        const auto view = collect_view(site, journal, options.rollout);
        if (!view) {
            // slurmctld may be restarting; what is wrong for good is said at once.
            log::error("{}", view.error().message);
            if (view.error().code != Errc::unreachable) return exit_code_of(view.error().code);
            if (++failures > 150) return exit_code::unreachable;
        } else {
            failures = 0;
            // One rollout is watched to its end, also when another begins meanwhile.
            if (options.rollout == 0 && view->rollout && view->rollout->open())
                options.rollout = view->rollout->id;
            draw(*view);
            if (is_over(*view))
                return progress_of(*view).of(Step::failed) == 0 ? exit_code::ok
                                                                : exit_code::some_failed;
        }
        pause_for(options.interval);
    }
    return exit_code::ok;
}

}  // namespace

int watch(const Site& site, const WatchOptions& options) {
    auto journal = Journal::open(site.state_dir);
    if (!journal) {
        log::error("{}", journal.error().message);
        return exit_code_of(journal.error().code);
    }
    catch_signals();
    if (::isatty(STDOUT_FILENO) != 0) {
        Terminal terminal;
        return watch_loop(site, *journal, options,
                          [&](const View& view) { terminal.draw(view, news_of(view, *journal)); });
    }
    Lines lines;
    View last;
    const int code = watch_loop(site, *journal, options, [&](const View& view) {
        lines.draw(view);
        last = view;
    });
    if (last.rollout) lines.summary(last);
    return code;
}

}  // namespace cohort
