# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lab cloud's compute host does with a server after nova's API has answered 202."""
from __future__ import annotations

import asyncio
import sys

from cloud_state import Action, Cloud, Plan, Server, now_iso


class HookFailed(Exception):
    pass


class Power:
    def __init__(self, cloud: Cloud, hook: str | None) -> None:
        self.cloud = cloud
        self.hook = hook
        self.tasks: set[asyncio.Task] = set()

    def begin(self, work) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _run_hook(self, event: str, server: Server, image: str = "") -> None:
        """What a machine really gets: CONTENT follows, as the hook does it."""
        if event == "spawn":
            server.content = image
            server.spawned += 1
        self.cloud.counters[f"hook_{event}"] += 1
        if not self.hook or not server.machine:
            return
        process = await asyncio.create_subprocess_exec(
            self.hook, event, server.name, server.id, image,
            stdout=sys.stderr, stderr=sys.stderr, stdin=asyncio.subprocess.DEVNULL)
        if await process.wait() != 0:
            raise HookFailed(f"power hook {event} failed")

    async def _follow(self, server: Server, action: Action, event: str, vm_state: str, work) -> None:
        """Runs WORK as nova's EVENT; its end is the action's."""
        entry = action.begin(event)
        try:
            await work
        except (HookFailed, OSError) as error:
            server.vm_state = "error"
            server.fault = {"code": 500, "created": now_iso(), "message": str(error)}
            action.end(entry, False)
        else:
            server.vm_state = vm_state
            action.end(entry, True)
        server.task_state = None
        server.touch()

    async def rebuild(self, server: Server, action: Action, plan: Plan) -> None:
        conductor = action.begin("rebuild_server")
        await asyncio.sleep(0)
        action.end(conductor, True)
        was_off = server.vm_state == "stopped"
        self.cloud.rebuild_begins()
        try:
            await self._follow(server, action, "compute_rebuild_instance",
                               "stopped" if was_off else "active",
                               self._rebuild_work(server, plan, was_off))
        finally:
            self.cloud.rebuild_ends()

    async def _rebuild_work(self, server: Server, plan: Plan, was_off: bool) -> None:
        if plan.outcome == "stuck":
            await asyncio.Event().wait()
        delay = self.cloud.knobs.rebuild_delay if plan.delay is None else plan.delay
        if plan.outcome == "lie":
            # All of nova says "done", and the machine boots what it had.
            await asyncio.sleep(delay)
            await self._run_hook("hard", server)
            return
        await self._run_hook("destroy", server)
        server.task_state = "rebuild_block_device_mapping"
        server.touch()
        await asyncio.sleep(delay / 2)
        server.task_state = "rebuild_spawning"
        await asyncio.sleep(delay / 2)
        if plan.outcome == "error":
            raise HookFailed(plan.fault)
        await self._run_hook("spawn", server, server.image)
        if was_off:
            await self._run_hook("stop", server)
        server.fault = None

    async def create(self, server: Server, action: Action, plan: Plan) -> None:
        conductor = action.begin("conductor_schedule_and_build_instances")
        await asyncio.sleep(0)
        action.end(conductor, True)
        await self._follow(server, action, "compute__do_build_and_run_instance", "active",
                           self._create_work(server, plan))

    async def _create_work(self, server: Server, plan: Plan) -> None:
        server.task_state = "spawning"
        if plan.outcome == "stuck":
            await asyncio.Event().wait()
        await asyncio.sleep(self.cloud.knobs.create_delay if plan.delay is None else plan.delay)
        if plan.outcome == "error":
            raise HookFailed(plan.fault)
        if server.task_state != "deleting":
            await self._run_hook("spawn", server, server.image)

    async def delete(self, server: Server, action: Action) -> None:
        async def work() -> None:
            await asyncio.sleep(self.cloud.knobs.delete_delay)
            if server.spawned:
                await self._run_hook("destroy", server)

        await self._follow(server, action, "compute_terminate_instance", "deleted", work())
        if server.vm_state == "deleted":
            del self.cloud.servers[server.id]

    async def reboot(self, server: Server, action: Action, kind: str, plan: Plan) -> None:
        async def work() -> None:
            if plan.outcome == "stuck":
                await asyncio.Event().wait()
            await asyncio.sleep(self.cloud.knobs.reboot_delay if plan.delay is None else plan.delay)
            if plan.outcome == "error":
                raise HookFailed(plan.fault)
            await self._run_hook(kind, server)

        self.cloud.counters[f"reboots_{kind}"] += 1
        await self._follow(server, action, "compute_reboot_instance", "active", work())

    async def switch(self, server: Server, action: Action, on: bool) -> None:
        event = "start" if on else "stop"
        await self._follow(server, action, f"compute_{event}_instance", "active" if on else "stopped",
                           self._run_hook(event, server))
