#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""All of nova in one process: conductor, scheduler, compute with the lab's driver, and the API, over
an in-memory message bus. Arguments: --config-file nova.conf. With LAB_COMPUTE empty its compute host is dead."""
import os
import sys

import nova.monkey_patch  # noqa: F401  must come first

# isort: split
import openstack_driver

sys.path.pop(0)  # the lab's other modules are not for nova

import nova.conf
import nova.virt
from nova import config, objects, service
from nova.compute import rpcapi as compute
from nova.conductor import rpcapi as conductor
from nova.scheduler import rpcapi as scheduler
from nova.scheduler.client import report
from oslo_log import log
from oslo_service import service as launchers

# nova looks for drivers in nova.virt only.
sys.modules["nova.virt.lab"] = openstack_driver
# Asked at every claim with one request per server of the host, and used for a reshape only: with all
# servers on one host that is most of the time of a build.
report.SchedulerReportClient.get_allocations_for_provider_tree = lambda *_: {}


def main() -> None:
    config.parse_args(["nova", *sys.argv[1:]])
    log.setup(nova.conf.CONF, "nova")
    objects.register_all()
    objects.Service.enable_min_version_cache()
    launcher = launchers.ServiceLauncher(nova.conf.CONF)
    parts = [("conductor", conductor.RPC_TOPIC), ("scheduler", scheduler.RPC_TOPIC)]
    if os.environ.get("LAB_COMPUTE", "yes"):
        parts.append(("compute", compute.RPC_TOPIC))
    for name, topic in parts:
        launcher.launch_service(service.Service.create(binary=f"nova-{name}", topic=topic))
    launcher.launch_service(service.WSGIService("osapi_compute"))
    launcher.wait()


if __name__ == "__main__":
    main()
