// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/submit.hpp"

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/slurm/compat.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/text.hpp"

namespace cohort::slurm {
namespace {

constexpr std::size_t most_words = 600;

// What is written to standard error while this lives.
class CaughtWords {
  public:
    CaughtWords() : file_(::memfd_create("words", MFD_CLOEXEC)), before_(::dup(STDERR_FILENO)) {
        std::fflush(stderr);
        if (file_ && before_) ::dup2(file_.get(), STDERR_FILENO);
    }
    CaughtWords(const CaughtWords&) = delete;
    CaughtWords& operator=(const CaughtWords&) = delete;
    ~CaughtWords() { restore(); }

    // One line; the "error: " before each of libslurm's is dropped.
    std::string take() {
        restore();
        if (!file_ || ::lseek(file_.get(), 0, SEEK_SET) != 0) return {};
        const auto all = read_fd(file_.get(), "words", 1 << 16);
        std::vector<std::string> lines;
        for (auto& line : text::split(all.value_or(""), '\n')) {
            constexpr std::string_view prefix = "error: ";
            if (line.starts_with(prefix)) line.erase(0, prefix.size());
            lines.push_back(std::move(line));
        }
        return text::one_line(text::join(lines, " "), most_words);
    }

  private:
    void restore() {
        if (!before_) return;
        std::fflush(stderr);
        ::dup2(before_.get(), STDERR_FILENO);
        before_.reset();
    }
    UniqueFd file_, before_;
};

// The description and what its pointers refer to.
class Description {
  public:
    explicit Description(RebuildSubmission job) : job_(std::move(job)) {
        slurm_init_job_desc_msg(&message_);
        message_.req_nodes = job_.node.data();
        message_.name = job_.name.data();
        message_.admin_comment = job_.admin_comment.data();
        message_.script = job_.script.data();
        message_.user_id = job_.user_id;
        message_.group_id = job_.group_id;
        message_.min_nodes = message_.max_nodes = 1;
        message_.reboot = 1;
        complete();
        if (job_.held) message_.priority = 0;
    }
    explicit Description(const TestSubmission& test)
        : partition_(test.partition), reservation_(test.reservation) {
        job_.node = compress_hosts(test.nodes);
        job_.name = test.name;
        job_.script = test.script;
        slurm_init_job_desc_msg(&message_);
        message_.req_nodes = job_.node.data();
        message_.name = job_.name.data();
        message_.script = job_.script.data();
        message_.partition = partition_.data();
        message_.reservation = reservation_.data();
        message_.user_id = test.user_id;
        message_.group_id = test.group_id;
        message_.min_nodes = message_.max_nodes = static_cast<std::uint32_t>(test.nodes.size());
        message_.time_limit = test.minutes;
        complete();
    }
    job_desc_msg_t* get() { return &message_; }

  private:
    void complete() {
        message_.environment = environment_;
        message_.env_size = 1;
        message_.work_dir = work_dir_;
        message_.std_in = message_.std_out = message_.std_err = output_;
        // A job needs a host that it comes from for --test-only.
        if (::gethostname(host_, sizeof host_ - 1) == 0) message_.alloc_node = host_;
    }

    RebuildSubmission job_;
    std::string partition_, reservation_;
    char path_[80] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char work_dir_[2] = "/", output_[10] = "/dev/null", host_[256] = "";
    char* environment_[2] = {path_, nullptr};
    job_desc_msg_t message_{};
};

tl::unexpected<Error> refusal(const std::string& what, int error, CaughtWords& caught) {
    const std::string words = caught.take();
    const std::string why = words.empty() ? slurm_strerror(error)
                                          : fmt::format("{} ({})", words, slurm_strerror(error));
    Errc code = Errc::denied;
    if (error == EAGAIN) code = Errc::busy;
    const auto within = [error](int first, int last) { return error >= first && error <= last; };
    if (within(SLURM_COMMUNICATIONS_CONNECTION_ERROR, SLURM_COMMUNICATIONS_SHUTDOWN_ERROR) ||
        within(SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR,
               SLURMCTLD_COMMUNICATIONS_SHUTDOWN_ERROR) ||
        error == SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT || error == ESLURM_IN_STANDBY_MODE)
        code = Errc::unreachable;
    return fail(code, fmt::format("slurmctld does not take a {}: {}", what, why));
}

Result<std::uint32_t> submit(Description& description, const std::string& what) {
    submit_response_msg_t* response = nullptr;
    CaughtWords caught;
    if (slurm_submit_batch_job(description.get(), &response) != SLURM_SUCCESS || !response)
        return refusal(what, errno, caught);
    const std::uint32_t id = compat::job_id(*response);
    slurm_free_submit_response_response_msg(response);
    return id;
}

}  // namespace

Result<std::uint32_t> submit_rebuild(const RebuildSubmission& job) {
    Description description(job);
    return submit(description, "rebuild job for " + job.node);
}

Result<std::uint32_t> submit_test(const TestSubmission& job) {
    Description description(job);
    return submit(description, "test job on " + compress_hosts(job.nodes));
}

Status test_rebuild(const RebuildSubmission& job) {
    Description description(job);
    will_run_response_msg_t* response = nullptr;
    CaughtWords caught;
    if (slurm_job_will_run2(description.get(), &response) != SLURM_SUCCESS)
        return refusal("rebuild job for " + job.node, errno, caught);
    if (response) slurm_free_will_run_response_msg(response);
    return {};
}

}  // namespace cohort::slurm
