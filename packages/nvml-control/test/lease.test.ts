import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { InvalidInputError } from '@pctodl/platform'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { placeOf } from '../src/control/apply-change.js'
import {
  isRunning,
  LeaseFolder,
  LeaseHeldError,
  type LeaseRecord,
  type NvmlDevice,
  type NvmlGpu,
  openGpu,
  processIdentity,
  putRight,
  withLease,
} from '../src/index.js'
import { SetterNotAppliedError } from '../src/lease/lease-errors.js'
import { JournalError } from '../src/lease/lease-folder.js'
import { changesBack } from '../src/lease/restore.js'
import { eventually, missingCompiler, type RunningHost, startHost } from './simulated-host.js'

describe.skipIf(missingCompiler)(`a lease${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: RunningHost
  let gpu: NvmlGpu
  let device: NvmlDevice
  let folder: LeaseFolder
  let options: { libraryPath: string; leaseFolder: string }

  beforeAll(async () => {
    // Board 1 has work, so that its clocks show.
    host = await startHost({ gpus: 2, tenants: [{ gpuIndex: 1, model: 'resnet50', mpsPercent: 100, batchSize: 32 }] })
    options = { libraryPath: host.libraryPath, leaseFolder: host.leaseFolder }
    gpu = await openGpu(0, options)
    device = gpu.device
    folder = new LeaseFolder(host.leaseFolder)
  })
  afterAll(async () => {
    await host?.stop()
  })
  beforeEach(() => expect(folder.journaled()).toEqual([]))

  it('writes down what it found before it changes anything, and forgets it when all is back', async () => {
    const lease = await gpu.acquireDirectly()
    expect(lease.found).toEqual({
      powerLimitW: 350,
      computeMode: 'default',
      persistence: false,
      smClockLock: null,
      memClockLock: null,
    })
    // Nothing was changed, so there is nothing to write and nobody to watch.
    expect(folder.journaled()).toEqual([])
    expect(lease.watchdogPid).toBeNull()
    await lease.setPowerLimit(250)
    await lease.setComputeMode('prohibited')
    const record = JSON.parse(readFileSync(folder.journalFile(device.uuid), 'utf8')) as LeaseRecord
    expect(record).toMatchObject({
      gpu: { uuid: device.uuid, index: 0 },
      owner: { pid: process.pid, startTime: processIdentity(process.pid)!.startTime, program: 'node' },
      touched: ['power-limit', 'compute-mode'],
    })
    const watchdog = processIdentity(lease.watchdogPid!)!
    expect(isRunning(watchdog)).toBe(true)
    expect([device.powerLimitW(), device.computeMode()]).toEqual([250, 'prohibited'])
    await lease.release()
    await lease.release()
    expect([device.powerLimitW(), device.computeMode()]).toEqual([350, 'default'])
    await eventually(() => !isRunning(watchdog), 'the watchdog ends by itself')
    await expect(lease.setPowerLimit(250)).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
  })

  it('belongs to one owner, and names it to the other', async () => {
    const lease = await gpu.acquireDirectly()
    const refused = await gpu.acquire().catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(LeaseHeldError)
    expect(refused).toMatchObject({ code: 'LEASE_HELD', pid: process.pid })
    // Another board is another lease.
    await (await (await openGpu(1, options)).acquire()).release()
    await lease.release()
    await (await gpu.acquire()).release()
  })

  it('puts the board back when the work throws', async () => {
    const work = withLease(gpu, async (lease) => {
      await lease.lockMemClock(9501)
      await lease.lockSmClock({ minMhz: 210, maxMhz: 1005 })
      await eventually(() => device.memClockMhz() === 9501, 'the memory clock is locked')
      throw new Error('on purpose')
    })
    await expect(work).rejects.toThrow('on purpose')
    await eventually(() => device.memClockMhz() === 405, 'the memory clock is free again')
  })

  it('refuses what the board cannot do', async () => {
    await withLease(gpu, async (lease) => {
      await expect(lease.lockSmClock(1004)).rejects.toThrow(
        /smClock.minMhz: got 1004, expected a supported state.*210 to 2100/,
      )
      await expect(lease.lockSmClock({ minMhz: 1005, maxMhz: 210 })).rejects.toThrow(InvalidInputError)
      await expect(lease.lockMemClock(9000)).rejects.toThrow(/405, 810, 5001, 9251, 9501/)
      for (const kind of ['sm-clock', 'mem-clock'] as const) {
        const [minMhz, maxMhz] = kind === 'sm-clock' ? [1005, 210] : [9501, 405]
        await expect(lease.change({ kind, range: { minMhz, maxMhz } })).rejects.toThrow(/minMhz of at most maxMhz/)
        await expect(lease.change({ kind, range: { maxMhz } as never })).rejects.toThrow(/Clock.minMhz: got undefined/)
      }
      await expect(lease.setPowerLimit(99)).rejects.toThrow(/100 to 400 W/)
      await expect(lease.setComputeMode('exclusive-thread')).rejects.toThrow(InvalidInputError)
      // At 405 MHz the SM clock ends at 420.
      await lease.lockMemClock(405)
      await expect(lease.lockSmClock(1005)).rejects.toThrow(/210 to 420/)
      expect(folder.read(device.uuid)!.touched).toEqual(['mem-clock'])
    })
    // The simulated firmware takes 30 ms to give the memory clock back, and holds SM clocks to it meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 100))
  })

  it('asks the driver only for what is not so already', async () => {
    await withLease(gpu, async (lease) => {
      await lease.setPowerLimit(350)
      await lease.setComputeMode('default')
      expect(folder.journaled()).toEqual([])
      await lease.lockSmClock(1005)
      // A request costs the stand-in 5 ms at least, so twenty cost 100; the processor may be away in some of the attempts.
      const tookMs: number[] = []
      for (let attempt = 0; attempt < 5; attempt++) {
        const startMs = performance.now()
        for (let i = 0; i < 20; i++) await lease.lockSmClock(1005)
        tookMs.push(performance.now() - startMs)
      }
      expect(Math.min(...tookMs)).toBeLessThan(50)
    })
  })

  it('keeps changes of one setting apart', async () => {
    const slow = await openGpu(0, { ...options, minSetIntervalMs: 60 })
    await withLease(slow, async (lease) => {
      await lease.setPowerLimit(300)
      const startMs = performance.now()
      await Promise.all([lease.setPowerLimit(290), lease.setPowerLimit(280)])
      expect(performance.now() - startMs).toBeGreaterThan(115)
      expect(device.powerLimitW()).toBe(280)
    })
  })

  it('shows on a busy board, and says so when something else has changed it', async () => {
    const busy = await openGpu(1, options)
    await withLease(busy, async (lease) => {
      await lease.lockSmClock(1005)
      await eventually(() => busy.device.smClockMhz() === 1005, 'the clock is locked')
      lease.verify()
      await lease.setPowerLimit(300)
      busy.device.check('nvmlDeviceResetGpuLockedClocks')
      await eventually(() => busy.device.smClockMhz() > 1020, 'somebody else has unlocked it')
      expect(() => lease.verify()).toThrow(SetterNotAppliedError)
      await lease.resetSmClock()
      busy.device.check('nvmlDeviceSetPowerManagementLimit', 200_000)
      expect(() => lease.verify()).toThrow(/power limit 300 W.*shows 200/)
    })
    // What another program has set meanwhile is that program's, and stays.
    expect(busy.device.powerLimitW()).toBe(200)
    busy.device.check('nvmlDeviceSetPowerManagementLimit', 350_000)
  })

  it('goes back to the locks that the operator keeps', async () => {
    const standing = await openGpu(1, { ...options, standingLocks: { smClock: { minMhz: 600, maxMhz: 600 } } })
    await withLease(standing, (lease) => lease.lockSmClock(1005))
    await eventually(() => standing.device.smClockMhz() === 600, 'the standing lock is back')
    standing.device.check('nvmlDeviceResetGpuLockedClocks')
  })

  it('knows the SM clocks under a memory clock lock of the operator that the driver rounds', async () => {
    const locked = (maxMhz: number) => openGpu(1, { ...options, standingLocks: { memClock: { minMhz: 405, maxMhz } } })
    await withLease(await locked(9000), (lease) => lease.lockSmClock(1005))
    const low = withLease(await locked(400), (lease) => lease.lockSmClock(1005))
    await expect(low).rejects.toThrow(/smClock.minMhz: got 1005, .* 210 to 420 MHz/)
  })

  it('reports a setter that a busy board ignores', async () => {
    const ignoring = await startHost({
      tenants: [{ gpuIndex: 0, model: 'resnet50', mpsPercent: 100, batchSize: 32 }],
      faults: { faults: [{ kind: 'setter-ignored', atMs: 0 }] },
    })
    try {
      const board = await openGpu(0, {
        libraryPath: ignoring.libraryPath,
        leaseFolder: ignoring.leaseFolder,
        verifyDeadlineMs: 300,
      })
      await eventually(() => board.device.smClockMhz() > 1500, 'the load runs at boost')
      await withLease(board, async (lease) => {
        await expect(lease.lockSmClock(1005)).rejects.toThrow(
          /SM clock 1005 MHz was accepted, but \d+ ms later the board shows \d+ MHz/,
        )
        await expect(lease.setPowerLimit(200)).rejects.toThrow(SetterNotAppliedError)
      })
    } finally {
      await ignoring.stop()
    }
  })

  describe('journals', () => {
    const left = (changes: Partial<LeaseRecord> = {}): LeaseRecord => ({
      format: 'pctodl-lease',
      version: 1,
      leaseId: '8f14e45f-ceea-467f-9a2d-1c1f0a3b5c7d',
      gpu: { uuid: device.uuid, index: 0, name: device.name },
      owner: {
        pid: 4_000_000,
        startTime: 1,
        bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
        uid: 0,
        program: 'node',
      },
      acquiredAt: '2026-01-01T00:00:00.000Z',
      found: { powerLimitW: 320, computeMode: 'default', persistence: false, smClockLock: null, memClockLock: null },
      touched: ['power-limit'],
      ...changes,
    })

    it('of a dead owner are put right before the next lease', async () => {
      folder.write(left())
      const lease = await gpu.acquireDirectly()
      expect(lease.found.powerLimitW).toBe(320)
      expect(folder.journaled()).toEqual([])
      await lease.release()
      device.check('nvmlDeviceSetPowerManagementLimit', 350_000)
    })

    it('are put right by the next program that opens a board', async () => {
      folder.write(left())
      await openGpu(1, options)
      expect(device.powerLimitW()).toBe(320)
      expect(folder.journaled()).toEqual([])
      device.check('nvmlDeviceSetPowerManagementLimit', 350_000)
    })

    it('of an earlier boot are removed: the driver has forgotten, too', async () => {
      folder.write(left({ owner: { ...left().owner, bootId: 'another' } }))
      expect(await putRight(gpu.nvml, options)).toMatchObject([{ outcome: 'rebooted' }])
      expect(device.powerLimitW()).toBe(350)
    })

    it('that cannot be read are kept, and refuse a lease', async () => {
      const file = folder.journalFile(device.uuid)
      for (const text of ['{', '{"format": "pctodl-lease"}', JSON.stringify({ ...left(), touched: ['everything'] })]) {
        writeFileSync(file, text)
        await expect(gpu.acquire()).rejects.toThrow(JournalError)
        await expect(gpu.acquire()).rejects.toThrow(/pctodl gpu reset/)
        expect(await putRight(gpu.nvml, options)).toMatchObject([{ outcome: 'failed', record: null }])
        expect(existsSync(file)).toBe(true)
      }
      folder.remove(device.uuid)
    })

    it('of a lease in use are left alone', async () => {
      await withLease(gpu, async (lease) => {
        await lease.setPowerLimit(250)
        expect(await putRight(gpu.nvml, options)).toMatchObject([
          { outcome: 'in-use', record: { owner: { pid: process.pid } } },
        ])
        expect(device.powerLimitW()).toBe(250)
      })
    })
  })

  it.skipIf(process.geteuid?.() !== 0 || !isMainThread)(
    'is no condition for looking: who may not read its folder reads boards all the same (needs root and a process to try)',
    async () => {
      const closed = mkdtempSync(path.join(host.leaseFolder, 'closed-'))
      chmodSync(closed, 0o700)
      process.seteuid!(65534)
      try {
        const outsider = await openGpu(0, { ...options, leaseFolder: closed })
        expect((await outsider.sample()).powerAverageW).toBeGreaterThan(10)
        await expect(outsider.acquire()).rejects.toMatchObject({ code: 'LEASE_FOLDER', message: /pctodld/ })
      } finally {
        process.seteuid!(0)
      }
    },
  )

  it('needs a folder that can be written', async () => {
    const file = path.join(host.leaseFolder, 'a-file')
    writeFileSync(file, '')
    const nowhere = await openGpu(0, { ...options, leaseFolder: path.join(file, 'leases') })
    await expect(nowhere.acquire()).rejects.toMatchObject({ code: 'LEASE_FOLDER', message: /PCTODL_LEASE_DIR/ })
  })
})

describe('what is put back', () => {
  const found = {
    powerLimitW: 350,
    computeMode: 'default' as const,
    persistence: null,
    smClockLock: null,
    memClockLock: { minMhz: 810, maxMhz: 810 },
  }

  it('is what was touched, and nothing else, persistence last', () => {
    expect(changesBack({ found, touched: [] })).toEqual([])
    expect(
      changesBack({ found, touched: ['persistence', 'compute-mode', 'power-limit', 'mem-clock', 'sm-clock'] }),
    ).toEqual([
      { kind: 'sm-clock', range: null },
      { kind: 'mem-clock', range: { minMhz: 810, maxMhz: 810 } },
      { kind: 'power-limit', powerLimitW: 350 },
      { kind: 'compute-mode', mode: 'default' },
    ])
  })
})

describe('a clock reading', () => {
  it.each([
    ['at the top of its lock', 1200, 0, 'top'],
    ['rounded by the driver', 1185, 0, 'top'],
    ['above it', 1410, 0, 'above'],
    ['above it in spite of a reason', 1410, 0x4, 'above'],
    ['below it without a reason', 600, 0, 'below'],
    ['below it for lack of work', 210, 0x1, 'held-below'],
    ['below it for the power limit', 900, 0x4, 'held-below'],
    ['below it for its heat', 900, 0x40, 'held-below'],
    ['below it for the lock itself', 900, 0x2, 'below'],
  ] as const)('%s', (_, readingMhz, reasons, place) => {
    expect(placeOf(readingMhz, 1200, reasons)).toBe(place)
  })
})
