// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/profile.hpp"

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include <sys/wait.h>
#include <csignal>

#include "common/profile_names.hpp"
#include "common/profile_store.hpp"
#include "tests/unit/profile_fixture.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using unit::Scratch;

namespace {

std::string content_of(const ProfileDirectory& where, const std::string& file) {
    std::ifstream in(where.path + "/" + file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

// Changes FILES by hand and seals the result, as an attacker or a broken writer would.
void write_sealed_by_hand(const ProfileDirectory& where,
                          const std::function<void(ProfileFiles&)>& change) {
    auto files = *profile_files(unit::sample_profile());
    change(files);
    const std::string seal = make_seal(files);
    for (const auto& [name, content] : files) unit::overwrite(where, name, content);
    unit::overwrite(where, "revision", seal);
}

struct Corruption {
    const char* words;
    std::function<void(const ProfileDirectory&)> damage;
    const char* sentence;
};

const std::vector<Corruption>& corruptions() {
    using D = const ProfileDirectory&;
    static const std::vector<Corruption> all = {
        {"a missing file", [](D d) { ::unlink((d.path + "/path").c_str()); }, "path is missing"},
        {"an emptied file", [](D d) { unit::overwrite(d, "image", ""); }, "image has 0 bytes"},
        {"a file of somebody else",
         [](D d) {
             if (::lchown((d.path + "/vars").c_str(), 4242, 4242) != 0) std::abort();
         },
         "vars belongs to uid 4242"},
        {"a file that others may write", [](D d) { ::chmod((d.path + "/vars").c_str(), 0666); },
         "vars has mode 0666"},
        {"a symbolic link",
         [](D d) {
             std::filesystem::rename(d.path + "/mode", d.path + "/../mode");
             std::filesystem::create_symlink("../mode", d.path + "/mode");
         },
         "mode is a symbolic link"},
        {"a huge file", [](D d) { unit::overwrite(d, "vars", std::string(70000, 'A')); },
         "vars is larger than 65536 bytes"},
        {"a NUL byte", [](D d) { unit::overwrite(d, "vars", std::string("A=b\0c\n", 6)); },
         "vars contains a NUL"},
        {"carriage returns", [](D d) { unit::overwrite(d, "mode", "run\r\n"); },
         "mode has carriage returns"},
        {"a value of two lines",
         [](D d) { write_sealed_by_hand(d, [](ProfileFiles& f) { f["mode"] = "run\nrun\n"; }); },
         "mode has more than one line"},
        {"another schema",
         [](D d) { write_sealed_by_hand(d, [](ProfileFiles& f) { f["schema"] = "2\n"; }); },
         "schema is '2'"},
        {"a file changed after the seal",
         [](D d) { unit::overwrite(d, "path", "/flox/env/bin\n/flox/env/xbin\n"); },
         "path was changed after it was sealed"},
        {"a revision that is not the settings' hash",
         [](D d) {
             auto seal = content_of(d, "revision");
             seal.replace(0, 4, seal.substr(0, 4) == "0000" ? "1111" : "0000");
             unit::overwrite(d, "revision", seal);
         },
         "the revision is not the hash of the settings"},
        {"a torn update", [](D d) { ::unlink((d.path + "/revision").c_str()); },
         "revision is missing: the profile was not completed"},
        {"no directory", [](D d) { std::filesystem::remove_all(d.path); },
         "there is no such directory"},
        {"a seal cut short",
         [](D d) {
             const auto seal = content_of(d, "revision");
             unit::overwrite(d, "revision", seal.substr(0, seal.size() - 6));
         },
         "revision is cut short"},
        {"an empty seal", [](D d) { unit::overwrite(d, "revision", ""); }, "revision is empty"},
        {"a file that does not belong there", [](D d) { unit::overwrite(d, "extra", "x\n"); },
         "extra does not belong into a profile"},
        {"a directory that others may write", [](D d) { ::chmod(d.path.c_str(), 0777); },
         "the directory has mode 0777"},
        {"a directory of somebody else",
         [](D d) {
             if (::chown(d.path.c_str(), 4242, 4242) != 0) std::abort();
         },
         "the directory belongs to uid 4242"},
        {"a linked directory",
         [](D d) {
             std::filesystem::rename(d.path, d.path + ".real");
             std::filesystem::create_directory_symlink(d.path + ".real", d.path);
         },
         "the directory is a symbolic link"},
        {"a second hard link",
         [](D d) { std::filesystem::create_hard_link(d.path + "/vars", d.path + "/../vars"); },
         "vars has a second name"},
        {"a FIFO",
         [](D d) {
             ::unlink((d.path + "/vars").c_str());
             ::mkfifo((d.path + "/vars").c_str(), 0444);
         },
         "vars is not a regular file"},
        {"no newline at the end", [](D d) { unit::overwrite(d, "mode", "run"); },
         "mode does not end with a newline"},
        {"a PATH entry outside of the environment",
         [](D d) {
             write_sealed_by_hand(d, [](ProfileFiles& f) { f["path"] = "/flox/envious/bin\n"; });
         },
         "outside of the environment"},
        {"an empty PATH entry",
         [](D d) {
             write_sealed_by_hand(d, [](ProfileFiles& f) { f["path"] = "/flox/env/bin\n\n"; });
         },
         "not a plain absolute path: ''"},
        {"a reserved variable",
         [](D d) {
             write_sealed_by_hand(d, [](ProfileFiles& f) { f["vars"] += "LD_PRELOAD=/x\n"; });
         },
         "vars has LD_PRELOAD, a reserved name"},
        {"a variable that the settings do not allow",
         [](D d) { write_sealed_by_hand(d, [](ProfileFiles& f) { f["vars"] += "OTHER=1\n"; }); },
         "vars has not the variables of env_exports"},
        {"an environment that the settings do not name",
         [](D d) {
             write_sealed_by_hand(d, [](ProfileFiles& f) { f["env-ref"] = "flox/other:2\n"; });
         },
         "env-ref is 'flox/other:2'"},
        {"settings that are not canonical",
         [](D d) {
             write_sealed_by_hand(d, [](ProfileFiles& f) {
                 f["settings"] += "x";
                 f["settings"] += "\n";
             });
         },
         "not a canonical text"},
    };
    return all;
}

std::vector<unit::Rule> corruption_rules() {
    std::vector<unit::Rule> rules;
    for (const auto& corruption : corruptions()) {
        if (::geteuid() != 0 && std::string(corruption.words).ends_with("somebody else")) {
            std::printf("SKIP: %s (only root can give files away)\n", corruption.words);
            continue;
        }
        rules.push_back(
            {fmt::format("refused, with its own sentence: {}", corruption.words), [&corruption] {
                 const Scratch scratch;
                 const auto where = scratch.profile();
                 unit::expect(write_profile(unit::sample_profile(), where).has_value(), "written");
                 corruption.damage(where);
                 const auto read = read_profile(where);
                 unit::expect(!read.has_value(), "refused");
                 unit::expect_contains(read.error().message, where.path + ": ");
                 unit::expect_contains(read.error().message, corruption.sentence);
             }});
    }
    return rules;
}

std::vector<std::string> steps_of_writing() {
    const Scratch scratch;
    std::vector<std::string> steps;
    (void)write_profile(unit::sample_profile(), scratch.profile(),
                        [&](std::string_view step) { steps.emplace_back(step); });
    return steps;
}

// Writes PROFILE in a child that kill -9 ends at step number STOP.
void write_killed_at(const Profile& profile, const ProfileDirectory& where, std::size_t stop) {
    const pid_t child = ::fork();
    if (child == 0) {
        std::size_t n = 0;
        (void)write_profile(profile, where, [&](std::string_view) {
            if (n++ == stop) ::raise(SIGKILL);
        });
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    unit::expect(WIFSIGNALED(status), "the writer was killed");
}

Profile other_profile() {
    auto profile = unit::sample_profile();
    profile.settings["flox_generation"] = "3";
    profile.env_ref = "flox/echoip:3";
    profile.hash = revision_hash(*canonical_settings(profile.settings));
    return profile;
}

void killed_everywhere(bool over_an_old_one) {
    const auto steps = steps_of_writing();
    unit::expect(steps.size() > 36, fmt::format("{} steps", steps.size()));
    for (std::size_t stop = 0; stop < steps.size(); ++stop) {
        const Scratch scratch;
        const auto where = scratch.profile();
        if (over_an_old_one)
            unit::expect(write_profile(unit::sample_profile(), where).has_value(), "old");
        write_killed_at(other_profile(), where, stop);
        const auto read = read_profile(where);
        if (read)
            unit::expect(stop + 1 == steps.size() ? *read == other_profile()
                                                  : stop == 0 && *read == unit::sample_profile(),
                         steps[stop]);
        else
            unit::expect_contains(read.error().message, "revision is missing");
        unit::expect(write_profile(other_profile(), where).has_value(), "after " + steps[stop]);
        unit::expect(read_profile(where).value_or(Profile{}) == other_profile(), steps[stop]);
    }
}

std::vector<unit::Rule> other_rules() {
    return {
        {"what was written is read back, with its revision",
         [] {
             const Scratch scratch;
             unit::expect_equal(
                 write_profile(unit::sample_profile(), scratch.profile()).value_or(false), true);
             const auto read = read_profile(scratch.profile());
             unit::expect(read.has_value(), read ? "" : read.error().message);
             unit::expect(*read == unit::sample_profile(), "equal");
             unit::expect(is_revision_name(read->revision()), read->revision());
         }},
        {"a profile that is there and the same is not touched",
         [] {
             const Scratch scratch;
             (void)write_profile(unit::sample_profile(), scratch.profile());
             unit::expect_equal(
                 write_profile(unit::sample_profile(), scratch.profile()).value_or(true), false);
             unit::expect_equal(write_profile(other_profile(), scratch.profile()).value_or(false),
                                true);
         }},
        {"a plain VM has a revision, no PATH and no variables",
         [] {
             Profile profile;
             profile.settings = {{"worker_image", "lab/v2"}};
             profile.image = "lab/v2";
             profile.hash = revision_hash(*canonical_settings(profile.settings));
             const Scratch scratch;
             unit::expect(write_profile(profile, scratch.profile()).has_value(), "written");
             unit::expect(read_profile(scratch.profile()).value_or(Profile{}) == profile, "read");
             unit::expect_equal(profile.revision(), revision_name_of_stamp("lab/v2"));
         }},
        {"every corruption has a sentence of its own",
         [] {
             std::set<std::string> sentences;
             for (const auto& corruption : corruptions())
                 unit::expect(sentences.insert(corruption.sentence).second, corruption.words);
         }},
        {"kill -9 at every step of a first write leaves what is refused",
         [] { killed_everywhere(false); }},
        {"kill -9 at every step of a rewrite leaves the old one or what is refused",
         [] { killed_everywhere(true); }},
        {"a rewrite during a read is noticed at every step of it",
         [] {
             const char* const moments[] = {"read schema", "read path", "read vars",
                                            "compare revision"};
             for (const std::string moment : moments) {
                 const Scratch scratch;
                 const auto where = scratch.profile();
                 (void)write_profile(unit::sample_profile(), where);
                 const auto read = read_profile(where, [&](std::string_view step) {
                     if (step == moment) (void)write_profile(other_profile(), where);
                 });
                 unit::expect(!read && read.error().code == Errc::busy, moment);
             }
         }},
        {"a profile that could not be read back is not written",
         [] {
             const std::pair<const char*, std::function<void(Profile&)>> bad[] = {
                 {"more than one line", [](Profile& p) { p.vars[0].second = "a\nb"; }},
                 {"NUL byte", [](Profile& p) { p.vars[0].second = std::string("a\0b", 3); }},
                 {"carriage return",
                  [](Profile& p) {
                      p.env_path = "/flox/env\r";
                      p.path.clear();
                  }},
                 {"larger than 65536",
                  [](Profile& p) { p.vars[0].second = std::string(66000, 'x'); }},
                 {"env_exports", [](Profile& p) { p.vars.emplace_back("NOT_ALLOWED", "1"); }},
                 {"settings say", [](Profile& p) { p.env_ref = "flox/echoip"; }},
                 {"outside of the environment",
                  [](Profile& p) { p.path.emplace_back("/usr/bin"); }},
                 {"twice", [](Profile& p) { p.path.push_back(p.path[0]); }},
             };
             for (const auto& [words, change] : bad) {
                 const Scratch scratch;
                 auto profile = unit::sample_profile();
                 change(profile);
                 const auto written = write_profile(profile, scratch.profile());
                 unit::expect(!written.has_value(), words);
                 unit::expect(!std::filesystem::exists(scratch.profile().path),
                              "nothing was written");
             }
         }},
        {"a value of 6 kB with = and UTF-8 is kept whole",
         [] {
             auto profile = unit::sample_profile();
             profile.vars[0].second = std::string(6000, 'x') + " = é\t'\"$(x)`";
             const Scratch scratch;
             (void)write_profile(profile, scratch.profile());
             unit::expect_equal(
                 read_profile(scratch.profile()).value_or(Profile{}).vars.at(0).second,
                 profile.vars[0].second);
         }},
        {"a foreign file keeps the writer from sealing",
         [] {
             const Scratch scratch;
             const auto where = scratch.profile();
             (void)write_profile(unit::sample_profile(), where);
             unit::overwrite(where, "notes", "x\n");
             const auto written = write_profile(other_profile(), where);
             unit::expect(!written.has_value(), "refused");
             unit::expect_contains(written.error().message, "notes does not belong");
         }},
        {"names: what may be exported",
         [] {
             for (const char* good : {"GATK_CONDAENV_PREFIX", "_X", "LD_LIBRARY_PATH", "a1"})
                 unit::expect(is_variable_name(good) && !is_reserved_variable(good), good);
             for (const char* bad : {"", "1A", "A-B", "A B", "A=B", "A\n", "é"})
                 unit::expect(!is_variable_name(bad), bad);
             unit::expect(is_variable_name(std::string(128, 'A')) &&
                              !is_variable_name(std::string(129, 'A')),
                          "length");
             for (const char* reserved : {"PATH",
                                          "LD_PRELOAD",
                                          "LD_AUDIT",
                                          "BASH_ENV",
                                          "ENV",
                                          "IFS",
                                          "HOME",
                                          "USER",
                                          "SHELL",
                                          "PWD",
                                          "SLURM_JOB_ID",
                                          "SPANK_X",
                                          "PMIX_RANK",
                                          "PMI_FD",
                                          "_FLOX_ACTIVE",
                                          "FLOX_ENV_DIRS",
                                          "FLOX_FLOXHUB_TOKEN",
                                          "OS_PASSWORD",
                                          "KUBERNETES_SERVICE_HOST",
                                          "my_secret_key"})
                 unit::expect(is_reserved_variable(reserved), reserved);
         }},
    };
}

}  // namespace

int main() {
    auto rules = corruption_rules();
    for (auto& rule : other_rules()) rules.push_back(std::move(rule));
    return unit::run("profile", std::move(rules));
}
