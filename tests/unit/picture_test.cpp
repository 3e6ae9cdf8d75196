// SPDX-License-Identifier: GPL-2.0-or-later
// Which controller is active, as the plugin's file says.
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "rebootprog/site/picture.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

constexpr double noon = 1700000000;

struct Folder {
    std::string path = fmt::format("/tmp/cohort-picture.{}", ::getpid());
    Folder() { ::mkdir(path.c_str(), 0700); }
    ~Folder() { (void)!std::system(("rm -rf " + path).c_str()); }
    void write(const std::string& text) const { std::ofstream(path + "/snapshot.json") << text; }
    void written_by(const std::string& host, double at) const {
        SnapshotHeader header;
        header.host = host;
        header.written = at;
        write(render_snapshot(header, render_snapshot_body({}, {})));
    }
    std::string elsewhere() const { return active_elsewhere(path, Settings{}, "ctl2", noon); }
};

std::vector<unit::Rule> all_rules() {
    return {
        {"another host's fresh picture names it",
         [] {
             const Folder f;
             f.written_by("ctl", noon - 5);
             unit::expect_equal(f.elsewhere(), std::string("ctl"));
         }},
        {"our own picture: we are active",
         [] {
             const Folder f;
             f.written_by("ctl2", noon);
             unit::expect_equal(f.elsewhere(), std::string());
         }},
        {"a stale picture tells nothing (StaleAfter and the plugin's 10 s)",
         [] {
             const Folder f;
             f.written_by("ctl", noon - 41);
             unit::expect_equal(f.elsewhere(), std::string());
             f.written_by("ctl", noon - 39);
             unit::expect_equal(f.elsewhere(), std::string("ctl"));
         }},
        {"no plugin, an older plugin, and a file that is none tell nothing",
         [] {
             const Folder f;
             unit::expect_equal(f.elsewhere(), std::string());
             f.written_by("", noon);
             unit::expect_equal(f.elsewhere(), std::string());
             f.write("{");
             unit::expect_equal(f.elsewhere(), std::string());
             unit::expect(read_picture(f.path).error().code == Errc::invalid, "no snapshot");
         }},
        {"the times of the hooks are kept",
         [] {
             const Folder f;
             SnapshotHeader header;
             header.hooks = {90, 0.0042, 24.6, 49.2, 81.3};
             f.write(render_snapshot(header, render_snapshot_body({}, {})));
             const auto hooks = read_picture(f.path)->header.hooks;
             unit::expect_equal(hooks.calls, std::uint64_t{90});
             unit::expect(hooks.seconds == 0.0042 && hooks.median_us == 24.6 &&
                              hooks.p99_us == 49.2 && hooks.max_us == 81.3,
                          "all of them");
         }},
        {"a host name is kept as it is",
         [] {
             const Folder f;
             f.written_by("a \"b\".example.org", noon);
             unit::expect_equal(read_picture(f.path)->header.host,
                                std::string("a \"b\".example.org"));
         }},
    };
}

}  // namespace

int main() {
    return unit::run("picture", all_rules());
}
