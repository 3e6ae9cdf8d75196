// SPDX-License-Identifier: GPL-2.0-or-later
//
// A controller that answers, with a cluster of two revisions in which every field is null that may
// be. Beside host.cpp, whose prototypes are not Slurm's.
#include <atomic>
#include <cerrno>
#include <string>

extern "C" {
#include <slurm/slurm.h>
}

#include "tests/load/host.hpp"

#define HOST extern "C" __attribute__((visibility("default")))

namespace {

std::atomic<bool> up{false};

char a[] = "rev_aaaaaaaaaaaaaaaa", b[] = "rev_bbbbbbbbbbbbbbbb";
char extra_a[] = "{\"cohort_rev\":\"rev_aaaaaaaaaaaaaaaa\"}";
char extra_b[] = "{\"cohort_rev\":\"rev_bbbbbbbbbbbbbbbb\"}";
char names[][3] = {"n1", "n2", "n3", "n4"};
char main_partition[] = "main", all_nodes[] = "n1,n2,n3,n4";

template <class Message>
int answer(Message* message, Message** out) {
    if (up) {
        *out = message;
        return SLURM_SUCCESS;
    }
    errno = ECONNREFUSED;
    return SLURM_ERROR;
}

node_info_msg_t* nodes() {
    static node_info_t all[4] = {};
    static node_info_msg_t message = {};
    for (std::size_t i = 0; i < 4; ++i) {
        all[i].name = names[i];
        all[i].node_state = NODE_STATE_IDLE;
        all[i].cpus = 4;
        all[i].features = all[i].features_act = i < 2 ? a : b;
        all[i].extra = i < 2 ? extra_a : extra_b;
    }
    message.node_array = all;
    message.record_count = 4;
    return &message;
}

partition_info_msg_t* partitions() {
    static partition_info_t one = {};
    static partition_info_msg_t message = {};
    one.name = main_partition;
    one.nodes = all_nodes;
    one.flags = PART_FLAG_DEFAULT;
    one.state_up = PARTITION_UP;
    message.partition_array = &one;
    message.record_count = 1;
    return &message;
}

// Asked by the one thread of a plugin.
slurm_conf_t configuration = {};
reserve_info_msg_t no_reservations = {};
job_info_msg_t no_jobs = {};

}  // namespace

namespace host {
void answer_as_a_cluster(const std::string& state_save_location) {
    static std::string place;
    if (!state_save_location.empty()) {
        place = state_save_location;
        configuration.state_save_location = place.data();
    }
    up = !state_save_location.empty();
}
}  // namespace host

HOST int slurm_load_ctl_conf(time_t, slurm_conf_t** out) {
    return answer(&configuration, out);
}
HOST int slurm_load_node(time_t, node_info_msg_t** out, uint16_t) {
    return answer(nodes(), out);
}
HOST int slurm_load_node_single(node_info_msg_t** out, char*, uint16_t) {
    return answer(nodes(), out);
}
HOST int slurm_load_partitions(time_t, partition_info_msg_t** out, uint16_t) {
    return answer(partitions(), out);
}
HOST int slurm_load_reservations(time_t, reserve_info_msg_t** out) {
    return answer(&no_reservations, out);
}
HOST int slurm_load_jobs(time_t, job_info_msg_t** out, uint16_t) {
    return answer(&no_jobs, out);
}
HOST int slurm_load_job_user(job_info_msg_t** out, uint32_t, uint16_t) {
    return answer(&no_jobs, out);
}
