import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { LeaseFolder, type LeaseRecord, loadNvml, openGpu } from '@pctodl/nvml-control'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type HostProcess,
  missingCompiler,
  simulator,
  startHostProcess,
} from '../../nvml-control/test/simulated-host.js'
import type { Finding } from '../src/doctor/finding.js'
import { run } from './run-pctodl.js'

/** The commands run in this process, so that the sources are what is tested. */
describe.skipIf(missingCompiler)(`on a host with two boards${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: HostProcess
  let folder: string
  let leases: LeaseFolder
  const before = { ...process.env }

  beforeAll(async () => {
    host = await startHostProcess({ board: 'A100', gpus: 2 })
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl-cli-host-'))
    leases = new LeaseFolder(path.join(folder, 'leases'))
    // A node service may run on this machine.
    const PCTODL_SERVICE_SOCKET = path.join(folder, 'no.sock')
    const places = { PCTODL_LEASE_DIR: leases.path, PCTODL_MPS_DIR: path.join(folder, 'mps'), XDG_CACHE_HOME: folder }
    const own = { ...places, PCTODL_SERVICE_SOCKET }
    // Without what doctor starts elsewhere on this machine: browsers, compilers, Python.
    const [programs] = host.environment['PATH']!.split(path.delimiter)
    Object.assign(process.env, host.environment, own, { PATH: programs })
  })
  afterAll(async () => {
    await run('mps', 'stop')
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
    await host?.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  const library = () => ({ libraryPath: host.libraryPath })
  const here = () => ['--library', host.libraryPath]
  const findings = async () => {
    const { findings: all } = JSON.parse((await run('doctor', '--json', ...here())).stdout) as { findings: Finding[] }
    return Object.fromEntries(all.map((finding) => [finding.check, finding]))
  }
  const cleanup = async (...words: string[]) => JSON.parse((await run('cleanup', '--json', ...here(), ...words)).stdout)
  const limitW = (index: number) =>
    Number(execFileSync('nvidia-smi', [`--id=${index}`, '--query-gpu=power.limit', '--format=csv,noheader,nounits']))

  /** Leaves boards as programs do that are killed with their watchdogs: changed, with the journal of a process that is gone. */
  async function leaveChanged(bootIds: readonly (string | undefined)[]) {
    const { pid } = spawnSync('/bin/true')
    const records: LeaseRecord[] = []
    for (const [index, bootId] of bootIds.entries()) {
      const gpu = await openGpu(index, library())
      const lease = await gpu.acquire()
      await lease.setPowerLimit(200)
      const record = leases.read((await gpu.info()).uuid)!
      records.push({ ...record, owner: { ...record.owner, pid, startTime: 1, ...(bootId ? { bootId } : {}) } })
      await lease.release()
    }
    for (const [index, record] of records.entries()) {
      execFileSync('nvidia-smi', [`--id=${index}`, '-pl', '200'])
      leases.write(record)
    }
    return { uuid: records[0]!.gpu.uuid, pid }
  }

  it('doctor finds driver, boards and MPS', async () => {
    const found = await findings()
    for (const check of ['driver', 'NVML', 'GPU 0', 'GPU 1', 'MPS', 'leases'])
      expect(found[check]!.verdict, check).toBe('ok')
    expect(found).not.toHaveProperty('boards')
    expect(found['driver']!.detail).toBe(`NVIDIA ${loadNvml(library()).driverVersion}`)
    expect(found['GPU 1']!.detail).toMatch(/A100/)
    expect(found['GPU 0']!.advice).toMatch(/fitted to a simulated A100; .*pctodl fit/)
    expect(found['MPS']!.detail).toMatch(/; no daemon runs at \S+$/)
    if (process.geteuid?.() !== 0) return
    expect(found['permission']).toMatchObject({
      verdict: 'ok',
      detail: 'root',
      advice: expect.stringMatching(/CAP_SYS_ADMIN/),
    })
    expect((await run('doctor', ...here())).stdout).toMatch(/Works here: simulated boards.*, real boards/s)
  })

  it('cleanup leaves a daemon alone while it has clients or a run holds a board, and ends it after', async () => {
    expect((await run('mps', 'start')).code).toBe(0)
    const gpu = await openGpu(0, library())
    const lease = await gpu.acquire()
    const held = await cleanup()
    expect(held.outcomes).toEqual([])
    expect(held.leftAlone).toEqual([
      { what: expect.stringMatching(/^MPS daemon \d+ at /), why: expect.stringMatching(/a run holds a board now/) },
      {
        what: `lease on ${(await gpu.info()).uuid}`,
        why: expect.stringMatching(new RegExp(`^process ${process.pid} holds it \\(\\w+`)),
      },
    ])
    await lease.release()
    expect((await cleanup('--dry-run')).outcomes).toEqual([
      {
        kind: 'mps-daemon',
        what: expect.stringMatching(/, without clients$/),
        outcome: 'found',
        detail: 'found, nothing done',
      },
    ])
    const pipe = path.join(folder, 'mps', 'all', 'pipe')
    const client = spawn(process.execPath, [simulator, 'tenant', '--network', 'mobilenet_v2', '--batch', '8'], {
      env: { ...process.env, CUDA_MPS_PIPE_DIRECTORY: pipe },
      stdio: 'ignore',
    })
    const ended = new Promise((resolve) => client.once('exit', resolve))
    try {
      await expect.poll(async () => (await cleanup('--dry-run')).outcomes).toEqual([])
      expect((await findings())['MPS']!.detail).toMatch(/ a daemon runs with 1 clients at /)
      expect(await cleanup()).toEqual({
        outcomes: [],
        leftAlone: [
          { what: expect.stringMatching(/^MPS daemon/), why: expect.stringMatching(/^processes \d+ are its clients/) },
        ],
      })
    } finally {
      client.kill('SIGTERM')
      await ended
    }
    await expect.poll(async () => (await cleanup('--dry-run')).outcomes).toHaveLength(1)
    expect((await cleanup()).outcomes).toEqual([
      expect.objectContaining({ kind: 'mps-daemon', outcome: 'removed', detail: expect.stringMatching(/^ended \(/) }),
    ])
  })

  it('cleanup puts back what a dead program changed, and says of whom it was', async () => {
    const { uuid, pid } = await leaveChanged([undefined])
    expect((await findings())['leases']).toMatchObject({
      verdict: 'broken',
      detail: `a program that is gone left ${uuid} changed`,
    })
    // Changes wait until the board is put back.
    expect((await run('doctor', ...here())).stdout).toMatch(/Works here: .*, reading real boards\./)
    const what = expect.stringMatching(new RegExp(`^${uuid} was left changed \\(power-limit\\) by process ${pid}, `))
    const found = [{ kind: 'board', what, outcome: 'found', detail: 'found, nothing done' }]
    expect(await cleanup('--dry-run')).toEqual({ outcomes: found, leftAlone: [] })
    expect(limitW(0)).toBe(200)
    expect((await cleanup()).outcomes).toEqual([{ kind: 'board', what, outcome: 'removed', detail: 'put back' }])
    expect(limitW(0)).toBe(250)
    expect(await cleanup()).toEqual({ outcomes: [], leftAlone: [] })
  })

  it('cleanup removes the journal of an earlier boot, and mends both boards in one call', async () => {
    await leaveChanged([undefined, 'an earlier one'])
    const { outcomes } = await cleanup()
    expect(outcomes.map(({ detail }: { readonly detail: string }) => detail).sort()).toEqual([
      'journal of an earlier boot removed',
      'put back',
    ])
    expect(limitW(0)).toBe(250)
    execFileSync('nvidia-smi', ['--id=1', '-pl', '250'])
  })

  it('one board that is lost keeps nothing from the other', async () => {
    const { uuid } = await leaveChanged([undefined])
    await host.call('loseBoard', 1)
    const found = await findings()
    expect(found['GPU 1']!.verdict).toBe('broken')
    expect(found['GPU 0']!.verdict).toBe('ok')
    expect((await cleanup()).outcomes).toEqual([
      expect.objectContaining({ what: expect.stringContaining(uuid), outcome: 'removed', detail: 'put back' }),
    ])
    await host.call('findBoard', 1)
  })
})
