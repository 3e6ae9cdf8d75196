// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_gate.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

// A node's /etc/slurm; SLURM_CONF says where it is.
class EtcSlurm {
  public:
    EtcSlurm()
        : path_(std::filesystem::temp_directory_path() / fmt::format("node_gate.{}", ::getpid())) {
        std::filesystem::create_directories(path_);
        ::setenv("SLURM_CONF", file("slurm.conf").c_str(), 1);
        write("slurm.conf", "ClusterName=x\n");
    }
    EtcSlurm(const EtcSlurm&) = delete;
    EtcSlurm& operator=(const EtcSlurm&) = delete;
    ~EtcSlurm() { std::filesystem::remove_all(path_); }

    std::string file(const char* name) const { return (path_ / name).string(); }
    void write(const char* name, const std::string& text) const {
        std::ofstream(path_ / name) << text;
    }

  private:
    std::filesystem::path path_;
};

}  // namespace

int main() {
    return unit::run(
        "node_gate",
        {
            {"plugstack.conf is beside slurm.conf",
             [] {
                 const EtcSlurm etc;
                 unit::expect_equal(local_plugstack(), etc.file("plugstack.conf"));
                 unit::expect(!local_launch_gate().there, "there is none");
                 unit::expect_equal(local_profile_directory().path, ProfileDirectory{}.path);
             }},
            {"PlugStackConfig names another, in an included file too, whatever its letters",
             [] {
                 const EtcSlurm etc;
                 etc.write("slurm.conf", "#PlugStackConfig=/no\nInclude more.conf\n");
                 etc.write("more.conf", "plugstackconfig = " + etc.file("other.conf") + " # why\n");
                 etc.write("plugstack.conf", "required spank_cohort.so profile_dir=/beside\n");
                 etc.write("other.conf",
                           "required spank_cohort.so profile_dir=/run/tasks path=append\n");
                 unit::expect_equal(local_plugstack(), etc.file("other.conf"));
                 unit::expect_equal(local_profile_directory().path, std::string("/run/tasks"));
                 unit::expect(local_launch_gate().needs_profile, "it says nothing of profile=off");
             }},
            {"profile=off asks for no profile",
             [] {
                 const EtcSlurm etc;
                 etc.write("plugstack.conf", "required spank_cohort.so profile=off\n");
                 unit::expect(local_launch_gate().there && !local_launch_gate().needs_profile,
                              "off");
             }},
        });
}
