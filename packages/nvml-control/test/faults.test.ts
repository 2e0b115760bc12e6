import { randomUUID } from 'node:crypto'
import { PctodlError } from '@pctodl/platform'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  type BoardLease,
  LeaseFolder,
  loadNvml,
  type NvmlDevice,
  type NvmlGpu,
  openGpu,
  putRight,
  withLease,
} from '../src/index.js'
import { SetterNotAppliedError } from '../src/lease/lease-errors.js'
import { RestoreError } from '../src/lease/restore.js'
import { type NvmlCallName, nvmlCallNames } from '../src/nvml/nvml-calls.js'
import { nvmlReturnCodes } from '../src/nvml/nvml-error.js'
import { buildFaultyNvml, type FaultyNvml } from './faulty-nvml.js'
import { missingCompiler, type RunningHost, startHost } from './simulated-host.js'

/** The shortest use of a lease that calls a setter. */
const uses: Readonly<Partial<Record<NvmlCallName, (lease: BoardLease) => Promise<void>>>> = {
  nvmlDeviceSetPowerManagementLimit: (lease) => lease.setPowerLimit(250),
  nvmlDeviceSetGpuLockedClocks: (lease) => lease.lockSmClock(1005),
  nvmlDeviceResetGpuLockedClocks: (lease) => lease.lockSmClock(1005).then(() => lease.resetSmClock()),
  nvmlDeviceSetMemoryLockedClocks: (lease) => lease.lockMemClock(810),
  nvmlDeviceResetMemoryLockedClocks: (lease) => lease.lockMemClock(810).then(() => lease.resetMemClock()),
  nvmlDeviceSetComputeMode: (lease) => lease.setComputeMode('exclusive-process'),
  nvmlDeviceSetPersistenceMode: (lease) => lease.setPersistence(true),
}
const setters = nvmlCallNames.filter((name) => /^nvmlDevice(Set|Reset)/.test(name))

/** What a lease asks while it is acquired, and where it looks whether a change shows. */
const reads: readonly (readonly [NvmlCallName, (lease: BoardLease) => Promise<void>])[] = [
  ['nvmlDeviceGetUUID', (lease) => lease.setPowerLimit(250)],
  ['nvmlDeviceGetIndex', (lease) => lease.setPowerLimit(250)],
  ['nvmlDeviceGetName', (lease) => lease.setPowerLimit(250)],
  ['nvmlDeviceGetPowerManagementLimit', (lease) => lease.setPowerLimit(250)],
  ['nvmlDeviceGetComputeMode', (lease) => lease.setComputeMode('prohibited')],
  ['nvmlDeviceGetPersistenceMode', (lease) => lease.setPersistence(true)],
  ['nvmlDeviceGetClockInfo', (lease) => lease.lockSmClock(1005)],
  ['nvmlDeviceGetCurrentClocksEventReasons', (lease) => lease.lockSmClock(1005)],
]

/** Boards on which scenarios run side by side. */
const BOARDS = 16

describe.skipIf(missingCompiler)(`every error of every setter${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: RunningHost
  let faulty: FaultyNvml
  let gpus: NvmlGpu[]
  let gpu: NvmlGpu
  let folder: LeaseFolder
  /** The same boards without faults in the way. */
  let truths: NvmlDevice[]

  beforeAll(async () => {
    host = await startHost({ gpus: BOARDS })
    faulty = buildFaultyNvml(host.libraryPath)
    folder = new LeaseFolder(host.leaseFolder)
    const options = {
      libraryPath: faulty.libraryPath,
      leaseFolder: host.leaseFolder,
      control: { path: 'nvml' },
      minSetIntervalMs: 0,
      verifyDeadlineMs: 100,
    } as const
    gpus = await Promise.all(Array.from({ length: BOARDS }, (_, index) => openGpu(index, options)))
    gpu = gpus[0]!
    truths = loadNvml({ libraryPath: host.libraryPath }).devices()
  })
  beforeEach(() => gpus.forEach((_, board) => void faulty.clear(board)))
  afterAll(async () => {
    faulty?.remove()
    await host?.stop()
  })

  const settings = (board = 0) => ({
    powerLimitW: truths[board]!.powerLimitW(),
    computeMode: truths[board]!.computeMode(),
    persistence: truths[board]!.persistence(),
  })
  const asFound = { powerLimitW: 350, computeMode: 'default', persistence: false }

  /** Run a scenario with each code, many boards side by side; afterwards every board must be as it was. */
  async function withEachCode(scenario: (board: number, code: number) => Promise<void>): Promise<void> {
    const codes = [...nvmlReturnCodes]
    await Promise.all(
      gpus.map(async (_, board) => {
        for (let code = codes.pop(); code !== undefined; code = codes.pop()) {
          try {
            await scenario(board, code)
          } finally {
            faulty.clear(board)
          }
          expect(settings(board), `code ${code}`).toEqual(asFound)
          expect(folder.read(truths[board]!.uuid), `code ${code}`).toBeNull()
        }
      }),
    )
  }

  it.each(setters)('%s: the error is typed, and the board is put back', async (name) => {
    await withEachCode(async (board, code) => {
      const lease = await gpus[board]!.acquireDirectly()
      try {
        faulty.answer(name, code, { board })
        await expect(uses[name]!(lease), `code ${code}`).rejects.toMatchObject({ nvmlCode: code, call: name })
      } finally {
        faulty.clear(board)
        await lease.release()
      }
    })
  })

  it.each(reads)('%s: a lease that cannot read is an error, and the board is put back', async (name, use) => {
    let failed = 0
    await withEachCode(async (board, code) => {
      faulty.answer(name, code, { board })
      const error = await withLease(gpus[board]!, async (lease) => {
        // Putting back must not depend on what failed while the lease was used.
        await use(lease).finally(() => faulty.clear(board))
      }).catch((reason: unknown) => reason)
      if (error === undefined) return
      failed++
      expect(error, `code ${code}`).toBeInstanceOf(PctodlError)
    })
    // Codes that say "this board has no such thing" are no failures.
    expect(failed).toBeGreaterThan(nvmlReturnCodes.length - 8)
  })

  it('forgets a change that was refused outright, and that one alone', async () => {
    const { uuid } = truths[0]!
    const touched = () => folder.read(uuid)?.touched
    const lease = await gpu.acquireDirectly()
    faulty.answer('nvmlDeviceSetComputeMode', 4, { times: 1 })
    await expect(lease.setComputeMode('prohibited')).rejects.toMatchObject({ code: 'NO_PERMISSION' })
    expect(touched()).toBeUndefined()
    await lease.setPowerLimit(250)
    faulty.answer('nvmlDeviceSetComputeMode', 4, { times: 1 })
    await expect(lease.setComputeMode('prohibited')).rejects.toMatchObject({ code: 'NO_PERMISSION' })
    expect(touched()).toEqual(['power-limit'])
    // What was changed before has to go back, whatever is refused since; what failed otherwise may be in force.
    faulty.answer('nvmlDeviceSetPowerManagementLimit', 4, { times: 1 })
    await expect(lease.setPowerLimit(260)).rejects.toMatchObject({ code: 'NO_PERMISSION' })
    faulty.answer('nvmlDeviceSetPersistenceMode', 999, { times: 1 })
    await expect(lease.setPersistence(true)).rejects.toThrow()
    expect(touched()).toEqual(['power-limit', 'persistence'])
    await lease.release()
    expect([touched(), settings()]).toEqual([undefined, asFound])
  })

  it('tries again where putting back fails for once', async () => {
    await withEachCode(async (board, code) => {
      const lease = await gpus[board]!.acquireDirectly()
      await lease.setPowerLimit(250)
      faulty.answer('nvmlDeviceSetPowerManagementLimit', code, { board, times: 1 })
      await lease.release()
    })
  })

  it('keeps the journal where putting back fails for good, for the watchdog to try', async () => {
    const lease = await gpu.acquireDirectly()
    await lease.setPowerLimit(250)
    faulty.answer('nvmlDeviceSetPowerManagementLimit', 4)
    await expect(lease.release()).rejects.toMatchObject({
      code: 'RESTORE_FAILED',
      message: expect.stringMatching(/power limit 350 W.*pctodl gpu restore/),
    })
    faulty.clear()
    // The watchdog may hold the board for a moment while it does what the release could not.
    const next = () => gpu.acquire().then((each) => each.release())
    await expect.poll(() => next().then(String, String)).toBe('undefined')
    const failing = withLease(gpu, async (each) => {
      await each.setPowerLimit(250)
      faulty.answer('nvmlDeviceSetPowerManagementLimit', 4)
      throw new Error('the work fails, too')
    })
    await expect(failing).rejects.toMatchObject({
      code: 'RESTORE_FAILED',
      message: expect.stringMatching(/^the work fails, too. And then GPU 0 could not be put back/),
      cause: expect.objectContaining({ message: 'the work fails, too' }),
    })
    // The watchdog loads this library anew, in its own process, and meets no fault there.
    await expect.poll(() => folder.journaled()).toEqual([])
    expect(settings()).toEqual(asFound)
  })

  /** Whoever puts a board back drops the journal first and the lock a moment later. */
  const acquiredWhenFree = () => vi.waitFor(() => gpu.acquireDirectly(), { timeout: 60_000 })

  it('reports a setter that is accepted and not applied', async () => {
    for (const [name, use] of [
      ['nvmlDeviceSetPowerManagementLimit', (lease) => lease.setPowerLimit(250)],
      ['nvmlDeviceSetComputeMode', (lease) => lease.setComputeMode('prohibited')],
      ['nvmlDeviceSetPersistenceMode', (lease) => lease.setPersistence(true)],
      ['nvmlDeviceSetMemoryLockedClocks', (lease) => lease.lockMemClock(810)],
    ] as const satisfies readonly (readonly [NvmlCallName, (lease: BoardLease) => Promise<void>])[]) {
      const lease = await acquiredWhenFree()
      faulty.answer(name, 0)
      // An idle board has a reason to run below a lock, so a memory clock that does not rise is not told apart there.
      const outcome = await use(lease).catch((reason: unknown) => reason)
      if (name === 'nvmlDeviceSetMemoryLockedClocks') expect(outcome).toBeUndefined()
      else expect(outcome).toBeInstanceOf(SetterNotAppliedError)
      faulty.clear()
      await lease.release()
    }
    expect(settings()).toEqual(asFound)
  })

  it('puts right at the next start what a killed owner and its watchdog have left', async () => {
    const { uuid } = truths[0]!
    const lease = await acquiredWhenFree()
    await lease.setPowerLimit(250)
    const left = { ...folder.read(uuid)!, leaseId: randomUUID(), setLimitsW: [250, 240] }
    await lease.release()
    truths[0]!.check('nvmlDeviceSetPowerManagementLimit', 240_000)
    folder.write(left)
    faulty.answer('nvmlDeviceSetPowerManagementLimit', 4)
    const options = { leaseFolder: host.leaseFolder, control: { path: 'nvml' } } as const
    expect(await putRight(gpu.nvml, options)).toMatchObject([
      { uuid, outcome: 'failed', error: { code: 'RESTORE_FAILED' } },
    ])
    expect(folder.read(uuid)!.lastError).toContain('NO_PERMISSION')
    await expect(gpu.acquire()).rejects.toThrow(RestoreError)
    faulty.clear()
    expect(await putRight(gpu.nvml, options)).toMatchObject([{ uuid, outcome: 'restored' }])
    expect(settings()).toEqual(asFound)
    expect(await putRight(gpu.nvml, options)).toEqual([])
  })
})
