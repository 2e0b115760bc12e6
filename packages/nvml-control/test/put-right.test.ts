import { randomUUID } from 'node:crypto'
import { VirtualClock } from '@pctodl/platform'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { verifyApplied } from '../src/control/apply-change.js'
import { LeaseFolder, type LeaseRecord, loadNvml, type NvmlDevice, NvmlEvents, openGpu } from '../src/index.js'
import { restoreAbandoned } from '../src/lease/restore.js'
import { missingCompiler, type RunningHost, startHost } from './simulated-host.js'

describe.skipIf(missingCompiler)(`a board on its own${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: RunningHost
  let device: NvmlDevice
  let folder: LeaseFolder
  let record: LeaseRecord

  beforeAll(async () => {
    host = await startHost()
    device = loadNvml({ libraryPath: host.libraryPath }).device(0)
    folder = new LeaseFolder(host.leaseFolder)
    const { libraryPath, leaseFolder } = host
    const gpu = await openGpu(0, { libraryPath, leaseFolder })
    const lease = await gpu.acquireDirectly()
    await lease.setPowerLimit(250)
    record = folder.read(device.uuid)!
    await lease.release()
  })
  afterAll(async () => {
    await host?.stop()
  })
  afterEach(() => {
    folder.remove(device.uuid)
    device.check('nvmlDeviceSetPowerManagementLimit', 350_000)
  })

  describe('left by an owner that is gone', () => {
    const abandoned = (leaseId: string) => restoreAbandoned(folder, device.uuid, () => device, leaseId)

    /** @returns the id of the lease that left it at 240 W */
    function leave(): string {
      const left = { ...record, leaseId: randomUUID(), setLimitsW: [350, 240] }
      device.check('nvmlDeviceSetPowerManagementLimit', 240_000)
      folder.write(left)
      return left.leaseId
    }

    it('is put back, and then nothing is left to do', async () => {
      const leaseId = leave()
      expect(await abandoned(leaseId)).toMatchObject({ outcome: 'restored', uuid: device.uuid })
      expect([device.powerLimitW(), folder.journaled(), folder.holder(device.uuid)]).toEqual([350, [], null])
      expect(await abandoned(leaseId)).toBeNull()
    })

    it('is not touched where the journal is another owner’s', async () => {
      leave()
      expect(await abandoned(randomUUID())).toBeNull()
      expect([device.powerLimitW(), folder.journaled()]).toEqual([240, [device.uuid]])
    })

    it('is put back as soon as the lock of the owner is free', async () => {
      const leaseId = leave()
      const lock = folder.tryLock(device.uuid)!
      const restored = abandoned(leaseId)
      expect(device.powerLimitW()).toBe(240)
      lock.release()
      expect(await restored).toMatchObject({ outcome: 'restored' })
      expect(device.powerLimitW()).toBe(350)
    })

    it('is left to whoever has locked it and written a journal since', async () => {
      const leaseId = leave()
      const lock = folder.tryLock(device.uuid)!
      const waiting = abandoned(leaseId)
      leave()
      expect(await waiting).toBeNull()
      expect([device.powerLimitW(), folder.journaled()]).toEqual([240, [device.uuid]])
      lock.release()
    })

    it('is not touched where somebody takes it in the moment in which the lock is free', async () => {
      const leaseId = leave()
      const lock = folder.tryLock(device.uuid)!
      const waiting = abandoned(leaseId)
      folder.remove(device.uuid)
      lock.release()
      expect(await waiting).toBeNull()
      expect(device.powerLimitW()).toBe(240)
    })
  })

  describe('asked whether a change shows', () => {
    const limit = (powerLimitW: number) => ({ kind: 'power-limit', powerLimitW }) as const

    it('is believed at once where it does, and not asked beyond the deadline where it does not', async () => {
      for (const deadlineMs of [0, 4, 5, 12]) {
        const clock = new VirtualClock()
        await verifyApplied(device, limit(350), { clock, deadlineMs })
        expect(clock.now()).toBe(0)
        const error = await verifyApplied(device, limit(300), { clock, deadlineMs }).catch((reason: unknown) => reason)
        // It is asked every 5 ms, for the last time when the deadline is reached.
        expect(clock.now()).toBe(5 * Math.ceil(deadlineMs / 5))
        expect(error).toMatchObject({ message: expect.stringContaining(`${clock.now()} ms later`) })
      }
    })

    it('is believed when it shows, within the precision of a driver', async () => {
      const clock = new VirtualClock()
      const shown = verifyApplied(device, limit(299.96), { clock, deadlineMs: 1000 })
      void clock.sleep(40).then(() => device.check('nvmlDeviceSetPowerManagementLimit', 300_000))
      await shown
      expect(clock.now()).toBeGreaterThanOrEqual(40)
      expect(clock.now()).toBeLessThanOrEqual(45)
      await expect(verifyApplied(device, limit(299.94), { clock, deadlineMs: 0 })).rejects.toThrow(/shows 300/)
    })
  })

  describe('asked what has happened to it', () => {
    it('tells each event once, in its order, with the number of an XID alone', async () => {
      const events = NvmlEvents.open(device)!
      expect(events.take()).toEqual([])
      for (const [kind, number] of [
        ['xid', 13],
        ['clock', 7],
        ['pstate', 0],
        ['xid', 48],
      ] as const) {
        await host.call('raiseEvent', 0, kind, number)
      }
      expect(events.take()).toEqual([
        { kind: 'xid', xid: 13 },
        { kind: 'clock', xid: null },
        { kind: 'pstate', xid: null },
        { kind: 'xid', xid: 48 },
      ])
      expect(events.take()).toEqual([])
      events.close()
      events.close()
    })
  })
})
