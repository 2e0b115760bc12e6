import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ControlGroup, missingControlGroups } from './control-group.js'
import {
  buildPrograms,
  eventually,
  everything,
  missingUsers,
  type Node,
  NodeService,
  ServiceClient,
  startClient,
  startNode,
} from './node-host.js'

const ALICE = 60_001
const missing = missingUsers ?? missingControlGroups
const pod = '0f3bbd61-6f53-4c5a-9e4c-3d0c4ab1d9e2'

describe.skipIf(missing)(`jobs of one user${missing ? ` (${missing})` : ''}`, () => {
  let node: Node
  let programs: Awaited<ReturnType<typeof buildPrograms>>
  let service: NodeService

  beforeAll(async () => {
    ;[node, programs] = await Promise.all([startNode({ gpus: 4, privilege: 'root' }), buildPrograms()])
    node.allow(everything([ALICE, 0]))
    service = await NodeService.start(node.options)
  })
  afterAll(async () => {
    await service?.close()
    programs?.remove()
    await node?.stop()
  })

  it('are told apart in status, audit and metrics, and end one by one', async () => {
    // The first part gets a name of this test before it, as slurmd's has that of its node.
    const groups = ['_slurmstepd.scope/job_41/step_0', '_slurmstepd.scope/job_42/step_0'].map(
      (name) => new ControlGroup(name),
    )
    const names = ['slurm:41', 'slurm:42', null]
    const clients = await Promise.all(
      names.map((_, index) =>
        startClient(node, programs.file('client'), index, {
          uid: ALICE,
          mode: `limit=${210 + index}`,
          group: groups[index],
        }),
      ),
    )
    try {
      const leases = () => service.status().boards.map(({ lease }) => lease && [lease.uid, lease.workload])
      expect(leases()).toEqual([...names.map((name) => [ALICE, name]), null])
      const audit = readFileSync(path.join(node.options.stateFolder, 'audit.jsonl'), 'utf8').trim().split('\n')
      const changes = audit.map((line) => JSON.parse(line)).filter(({ event }) => event === 'changed')
      const changed = node.devices.slice(0, 3).map(({ uuid }) => changes.find(({ board }) => board === uuid)?.workload)
      expect(changed).toEqual(['slurm:41', 'slurm:42', undefined])
      const metrics = await (await fetch(`${service.url}/metrics`)).text()
      const [first, second, third] = node.devices.map(({ uuid }) => uuid)
      expect(metrics).toContain(`pctodl_board_leased{gpu="0",UUID="${first}",hpc_job="41"} 1\n`)
      expect(metrics).toContain(`pctodl_board_leased{gpu="1",UUID="${second}",hpc_job="42"} 1\n`)
      expect(metrics).toContain(`pctodl_board_leased{gpu="2",UUID="${third}"} 1\n`)
      expect(metrics).toMatch(/^DCGM_FI_DEV_POWER_USAGE\{gpu="0",.*hpc_job="41".*\} \d/m)

      const root = await ServiceClient.open({ socket: node.options.socket })
      const end = (body: { uid?: number; boards?: string[]; workload: string }) =>
        root.request({ type: 'end-leases', uid: null, boards: null, ...body })
      expect(await end({ workload: `pod:${pod}` })).toEqual({ ended: [] })
      expect(await end({ workload: 'slurm:41' })).toEqual({ ended: [first] })
      expect(node.devices.slice(0, 3).map((device) => device.powerLimitW())).toEqual([350, 211, 212])
      // With the user, a lease that names no job counts as well; that of another job does not.
      expect(await end({ workload: 'slurm:41', uid: ALICE, boards: [second!, third!] })).toEqual({ ended: [third] })
      expect(leases()).toEqual([null, [ALICE, 'slurm:42'], null, null])
      root.close()
    } finally {
      for (const { child } of clients) child.kill('SIGKILL')
      await Promise.all(clients.map(({ ended }) => ended))
      await eventually(() => groups.every(({ empty }) => empty), 'the groups are empty')
      for (const group of groups) group.remove()
    }
  })
})
