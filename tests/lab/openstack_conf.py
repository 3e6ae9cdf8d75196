# SPDX-License-Identifier: GPL-2.0-or-later
"""Configuration of the true OpenStack services, as text: addresses in, files out.

Everything of one cloud lies under one folder; nothing is read from /etc or written to /var.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

REGION = "RegionOne"
HOST = "lab"  # nova's name for its only compute host
ADMIN, SERVICE = "lab-admin-password", "lab-service-password"


@dataclass(frozen=True)
class Place:
    """Where a cloud lives: its folder and the address it listens on."""

    folder: Path
    address: str

    def url(self, service: str) -> str:
        return f"http://{self.address}:{PORTS[service]}"

    @property
    def socket(self) -> Path:
        return self.folder / "db.sock"

    def database(self, name: str) -> str:
        return f"mysql+pymysql://root@localhost/{name}?unix_socket={self.socket}&charset=utf8mb4"

    def etc(self, name: str) -> Path:
        return self.folder / "etc" / name


PORTS = {"keystone": 5000, "glance": 9292, "placement": 8778, "nova": 8774, "neutron": 9696}
DATABASES = ("keystone", "glance", "placement", "nova_api", "nova", "nova_cell0")


def _account(place: Place) -> str:
    """How one service signs in to speak to another."""
    return f"""auth_url = {place.url("keystone")}/v3
auth_type = password
username = service
password = {SERVICE}
project_name = service
user_domain_id = default
project_domain_id = default
"""


def _authtoken(place: Place, service_type: str) -> str:
    # service_type: without it the access rules of application credentials are not enforced.
    return (f"[keystone_authtoken]\nwww_authenticate_uri = {place.url('keystone')}/v3\n"
            f"service_type = {service_type}\n" + _account(place))  # fmt: skip


def keystone(place: Place) -> str:
    keys = place.etc("keystone")
    return f"""[DEFAULT]
use_stderr = true
public_endpoint = {place.url("keystone")}/
[database]
connection = {place.database("keystone")}
max_pool_size = 5
[token]
expiration = 14400
[fernet_tokens]
key_repository = {keys}/fernet
[fernet_receipts]
key_repository = {keys}/fernet
[credential]
key_repository = {keys}/credential
[identity]
password_hash_rounds = 4
"""


def placement(place: Place) -> str:
    return f"""[api]
auth_strategy = keystone
[placement_database]
connection = {place.database("placement")}
{_authtoken(place, "placement")}"""


def glance(place: Place) -> str:
    state = place.folder / "glance"
    return f"""[DEFAULT]
bind_host = {place.address}
bind_port = {PORTS["glance"]}
workers = 0
use_stderr = true
enabled_backends = files:file
[glance_store]
default_backend = files
[files]
filesystem_store_datadir = {state}/images
[os_glance_staging_store]
filesystem_store_datadir = {state}/staging
[os_glance_tasks_store]
filesystem_store_datadir = {state}/tasks
[database]
connection = {place.database("glance")}
[oslo_concurrency]
lock_path = {place.folder}/lock
[paste_deploy]
flavor = keystone
config_file = {place.etc("glance-paste.ini")}
{_authtoken(place, "image")}"""


GLANCE_PASTE = """[pipeline:glance-api-keystone]
pipeline = versions token context root
[composite:root]
paste.composite_factory = glance.api:root_app_factory
/: list_of_versions
/v2: v2
[app:list_of_versions]
paste.app_factory = glance.api.versions:create_resource
[app:v2]
paste.app_factory = glance.api.v2.router:API.factory
[filter:versions]
paste.filter_factory = glance.api.middleware.version_negotiation:VersionNegotiationFilter.factory
[filter:token]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
[filter:context]
paste.filter_factory = glance.api.middleware.context:ContextMiddleware.factory
"""


def nova(place: Place) -> str:
    """All of nova over an in-memory bus. Its periodic work is kept rare: one process does it all."""
    return f"""[DEFAULT]
use_stderr = true
my_ip = {place.address}
host = {HOST}
state_path = {place.folder}/nova
transport_url = fake://
compute_driver = lab.Driver
enabled_apis = osapi_compute
osapi_compute_listen = {place.address}
osapi_compute_listen_port = {PORTS["nova"]}
osapi_compute_workers = 1
periodic_fuzzy_delay = 0
heal_instance_info_cache_interval = -1
sync_power_state_interval = -1
update_resources_interval = 600
shutdown_timeout = 1
service_down_time = 600
[oslo_policy]
enforce_new_defaults = true
enforce_scope = true
[api]
auth_strategy = keystone
max_limit = 50
[wsgi]
api_paste_config = {place.etc("nova-paste.ini")}
[api_database]
connection = {place.database("nova_api")}
[database]
connection = {place.database("nova")}
max_pool_size = 20
[conductor]
workers = 1
[scheduler]
workers = 1
discover_hosts_in_cells_interval = 1
[cache]
enabled = false
[oslo_concurrency]
lock_path = {place.folder}/lock
[quota]
instances = -1
cores = -1
ram = -1
[vnc]
enabled = false
[glance]
api_servers = {place.url("glance")}
[neutron]
endpoint_override = {place.url("neutron")}
region_name = {REGION}
{_account(place)}[placement]
region_name = {REGION}
{_account(place)}[service_user]
send_service_user_token = false
{_authtoken(place, "compute")}"""


NOVA_PASTE = """[composite:osapi_compute]
use = call:nova.api.openstack.urlmap:urlmap_factory
/: versions
/v2.1: version
/v2.1/+: api
[pipeline:versions]
pipeline = faults versions_app
[pipeline:version]
pipeline = faults version_app
[pipeline:api]
pipeline = request_id size faults token context api_app
[app:versions_app]
paste.app_factory = nova.api.openstack.compute.versions:Versions.factory
[app:version_app]
paste.app_factory = nova.api.openstack.compute.versions:VersionsV2.factory
[app:api_app]
paste.app_factory = nova.api.openstack.compute:APIRouterV21.factory
[filter:request_id]
paste.filter_factory = nova.api.compute_req_id:ComputeReqIdMiddleware.factory
[filter:size]
paste.filter_factory = oslo_middleware.sizelimit:RequestBodySizeLimiter.factory
[filter:faults]
paste.filter_factory = nova.api.openstack:FaultWrapper.factory
[filter:token]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
[filter:context]
paste.filter_factory = nova.api.auth:NovaKeystoneContext.factory
"""


def write_all(place: Place) -> None:
    for name in ("etc/keystone", "etc/placement", "glance/images", "glance/staging", "glance/tasks",
                 "nova", "lock", "log", "driver/fail"):  # fmt: skip
        (place.folder / name).mkdir(parents=True, exist_ok=True)
    texts = {"keystone/keystone.conf": keystone(place), "placement/placement.conf": placement(place),
             "glance.conf": glance(place), "glance-paste.ini": GLANCE_PASTE,
             "nova.conf": nova(place), "nova-paste.ini": NOVA_PASTE}  # fmt: skip
    for name, text in texts.items():
        place.etc(name).write_text(text)
