import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  buildPrograms,
  eventually,
  everything,
  isFree,
  missingUsers,
  type Node,
  NodeService,
  type StartedClient,
  startClient,
  startNode,
} from './node-host.js'

const ALICE = 60_001
const BOB = 60_002
const BOARDS = 8

describe.skipIf(missingUsers)(`users of a node${missingUsers ? ` (${missingUsers})` : ''}`, () => {
  let node: Node
  let programs: Awaited<ReturnType<typeof buildPrograms>>
  let service: NodeService
  let isRunning = false
  const end = async () => {
    isRunning = false
    await service.close()
  }
  let clients: StartedClient[]

  beforeAll(async () => {
    // As on a real node: only root may set anything.
    ;[node, programs] = await Promise.all([startNode({ gpus: BOARDS, privilege: 'root' }), buildPrograms()])
  })
  afterAll(async () => {
    if (isRunning) await end()
    programs?.remove()
    await node?.stop()
  })
  beforeEach(async () => {
    clients = []
    if (!isRunning) service = await NodeService.start(node.options)
    isRunning = true
  })
  afterEach(async () => {
    for (const { child } of clients) child.kill('SIGKILL')
    await Promise.all(clients.map(({ ended }) => ended))
    if (isRunning && !(await isFree(service))) await end()
  })

  const start = async (index: number, options: { uid?: number; mode?: string }) => {
    const client = await startClient(node, programs.file('client'), index, options)
    clients.push(client)
    return client
  }

  it('are who the kernel says, and get what the policy says', async () => {
    node.allow(
      { users: [ALICE], boards: ['*'], powerLimitW: { min: 200, max: 300 } },
      { groups: [BOB], boards: [node.devices[1]!.uuid], powerLimitW: { min: 100, max: 400 } },
    )
    expect((await start(0, { uid: ALICE, mode: 'limit=200' })).word).toMatchObject({ access: { kind: 'service' } })
    expect(node.devices[0]!.powerLimitW()).toBe(200)
    expect((await start(1, { uid: ALICE, mode: 'limit=399' })).word).toMatchObject({
      code: 'NOT_ALLOWED',
      message: expect.stringMatching(/user 60001 may not set power limit 399 W .*200 to 300 W/),
    })
    await eventually(() => service.status().boards[1]!.lease === null, 'her refused lease has ended')
    expect((await start(1, { uid: BOB, mode: 'limit=399' })).word).toMatchObject({ access: { kind: 'service' } })
    expect(node.devices[1]!.powerLimitW()).toBe(399)
    expect((await start(0, { uid: BOB })).word).toMatchObject({ code: 'NOT_ALLOWED' })
    expect((await start(2, { uid: BOB })).word).toMatchObject({ code: 'NOT_ALLOWED' })
    expect(service.status().boards[0]!.lease).toMatchObject({ uid: ALICE, program: 'node' })
  })

  it(`hold ${BOARDS} boards at once, each its own, and each is put back when its owner is gone`, async () => {
    node.allow(everything(Array.from({ length: BOARDS }, (_, i) => ALICE + i)))
    const started = await Promise.all(
      node.devices.map((_, index) => start(index, { uid: ALICE + index, mode: `limit=${200 + index}` })),
    )
    expect(node.devices.map((device) => device.powerLimitW())).toEqual(node.devices.map((_, index) => 200 + index))
    expect(service.status().boards.map(({ lease }) => lease?.uid)).toEqual(
      node.devices.map((_, index) => ALICE + index),
    )
    // Every second one is killed: the others keep what they have.
    for (const { child } of started.filter((_, index) => index % 2 === 0)) child.kill('SIGKILL')
    await eventually(
      () => node.devices.every((device, index) => device.powerLimitW() === (index % 2 ? 200 + index : 350)),
      'half are back',
    )
    const owners = () => service.status().boards.map(({ lease }) => lease?.uid ?? null)
    const left = node.devices.map((_, index) => (index % 2 ? ALICE + index : null))
    await eventually(() => owners().join() === left.join(), 'they have no owner any more')
  })

  it('cannot reach what is the service’s', async () => {
    node.allow(everything([ALICE]))
    const { tenants } = (await start(0, { uid: ALICE, mode: 'mps' })).word
    expect(tenants).toHaveLength(2)
    const { stateFolder, mpsFolder, socket, policyFile } = node.options
    const leases = path.join(stateFolder, 'leases')
    const journal = path.join(leases, `${node.devices[0]!.uuid}.json`)
    expect(existsSync(journal)).toBe(true)
    const as = (uid: number, command: string) =>
      spawnSync('setpriv', [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--', 'sh', '-c', command]).status ===
      0
    for (const uid of [ALICE, BOB]) {
      for (const command of [
        `cat '${journal}'`,
        `rm -f '${journal}' && false; ls '${leases}'`,
        `echo x >> '${policyFile}'`,
        `cat '${path.join(stateFolder, 'audit.jsonl')}'`,
        `ls '${mpsFolder}'`,
        `touch '${mpsFolder}/planted'`,
        `rm '${socket}'`,
        `ln -s /etc/passwd '${path.dirname(socket)}/planted'`,
      ]) {
        expect(as(uid, `${command} 2>&-`), `user ${uid}: ${command}`).toBe(false)
      }
    }
    expect(readFileSync(journal, 'utf8')).toContain('power-limit')
    for (const folder of [stateFolder, leases]) expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  it('cannot end each other’s leases', async () => {
    node.allow(everything([ALICE]))
    await start(0, { uid: ALICE, mode: 'limit=222' })
    const { socket } = node.options
    const identity = [`--reuid=${BOB}`, `--regid=${BOB}`, '--clear-groups', '--', process.execPath]
    const words = [...identity, programs.file('pctodld'), 'end-leases', '--uid', String(ALICE), '--socket', socket]
    const attempt = await new Promise<[unknown, string]>((resolve) => {
      execFile('setpriv', words, { cwd: '/' }, (error, _, stderr) => resolve([error?.code, stderr]))
    })
    expect(attempt).toEqual([1, expect.stringMatching(/only root may end/)])
    expect(node.devices[0]!.powerLimitW()).toBe(222)
  })

  it('cannot give the service a policy', async () => {
    node.allow(everything([ALICE]))
    chownSync(node.options.policyFile, ALICE, ALICE)
    expect((await start(0, { uid: ALICE })).word).toMatchObject({ code: 'POLICY' })
    chownSync(node.options.policyFile, 0, 0)
    chmodSync(path.dirname(node.options.policyFile), 0o777)
    node.allow(everything([ALICE]), everything([BOB]))
    expect((await start(0, { uid: ALICE })).word).toMatchObject({
      code: 'POLICY',
      message: expect.stringMatching(/written by others/),
    })
    chmodSync(path.dirname(node.options.policyFile), 0o755)
  })
})
