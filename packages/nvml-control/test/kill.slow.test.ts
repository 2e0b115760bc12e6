import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { SeededRandom } from '@pctodl/numerics'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cases, numberIn } from '../../../test/long-tests.js'
import { LeaseFolder, loadNvml, type NvmlDevice, openGpu, processIdentity } from '../src/index.js'
import { type BuiltChildren, buildChildren } from './built-children.js'
import { eventually, missingCompiler, type RunningHost, startHost } from './simulated-host.js'

/** Ends per kind: PCTODL_KILLS=100 gives the figures of the README, in some minutes. */
const kills = numberIn('PCTODL_KILLS', cases(5, 3))
const BOARDS = 4
/** Long enough for a watchdog on a machine with many busy processes; how long it takes on a quiet one is told with PCTODL_KILLS. */
const LIMIT_MS = 30_000

const ways = ['exception', 'SIGINT', 'SIGTERM', 'SIGKILL'] as const

describe.skipIf(missingCompiler)(`ends of a lease's owner${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: RunningHost
  let children: BuiltChildren
  let devices: NvmlDevice[]
  const random = new SeededRandom(6)

  beforeAll(async () => {
    ;[host, children] = await Promise.all([
      startHost({ gpus: BOARDS }),
      buildChildren('test/fixtures/lease-child.ts', 'test/fixtures/lease-beside-child.ts'),
    ])
    devices = loadNvml({ libraryPath: host.libraryPath }).devices()
  })
  afterAll(async () => {
    children?.remove()
    await host?.stop()
  })

  const isAsFound = (device: NvmlDevice) =>
    device.powerLimitW() === 350 &&
    device.computeMode() === 'default' &&
    device.smClockMhz() === 210 &&
    device.memClockMhz() === 405

  /** @returns time from the end of the owner to a board that is as it was, ms; and whether it was changed at all */
  async function endOnce(way: (typeof ways)[number], index: number): Promise<{ restoredMs: number; changed: boolean }> {
    const device = devices[index]!
    const delayMs = 80 * random.uniform()
    const args = [children.file('lease-child'), host.libraryPath, host.leaseFolder, String(index)]
    if (way === 'exception') args.push(String(delayMs))
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...host.environment },
    })
    let errors = ''
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    const ended = new Promise<number>((resolve) => child.once('exit', () => resolve(performance.now())))
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve())
      child.once('exit', () => reject(new Error(`the owner ended too early: ${errors}`)))
    })
    let changed = false
    if (way !== 'exception') {
      // Half of the ends come at any moment, half while the board is certainly changed.
      const isChanged = () => device.powerLimitW() !== 350 && device.memClockMhz() !== 405
      if (random.uniform() < 0.5) await eventually(isChanged, 'the owner changes the board')
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      changed = isChanged()
      child.kill(way)
    }
    const endedMs = await ended
    if (way === 'exception') expect(errors).toContain('on purpose')
    else expect(child.signalCode).toBe(way)
    const uuid = device.uuid
    const folder = new LeaseFolder(host.leaseFolder)
    await eventually(
      () => isAsFound(device) && !folder.journaled().includes(uuid),
      `GPU ${index} is as it was after ${way}: ${device.powerLimitW()} W, ${device.smClockMhz()} MHz`,
      LIMIT_MS,
    )
    return { restoredMs: performance.now() - endedMs, changed }
  }

  it.each(ways)(
    `puts the board back after %s, ${kills} times at random moments`,
    async (way) => {
      const restoredMs: number[] = []
      let changed = 0
      let left = kills
      await Promise.all(
        devices.map(async (_, index) => {
          while (left-- > 0) {
            const outcome = await endOnce(way, index)
            restoredMs.push(outcome.restoredMs)
            if (outcome.changed) changed++
          }
        }),
      )
      expect(restoredMs).toHaveLength(kills)
      // A test that ends owners which have not changed anything would prove nothing.
      if (way !== 'exception') expect(changed).toBeGreaterThan(kills / 6)
      const remains = () => readdirSync(host.leaseFolder).filter((name) => !name.endsWith('.lock'))
      await eventually(() => remains().length === 0, 'nothing but locks remains in the folder', LIMIT_MS)
      if (process.env['PCTODL_KILLS']) {
        const sorted = [...restoredMs].sort((a, b) => a - b)
        const [median, most] = [sorted[Math.floor(kills / 2)]!, sorted.at(-1)!]
        process.stderr.write(
          `${way}: ${kills} ends, restored after ${median.toFixed(0)} ms (median), ${most.toFixed(0)} ms (most)\n`,
        )
      }
    },
    300_000,
  )

  /** An owner that has changed board 0 and now waits for a program of its own. */
  async function ownerBesideChild() {
    const child = spawn(process.execPath, [children.file('lease-beside-child'), host.libraryPath, host.leaseFolder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const watchdogPid = Number(await new Promise((resolve) => child.stdout.once('data', resolve)))
    expect(devices[0]!.powerLimitW()).toBe(250)
    return { child, ended, watchdogPid }
  }

  it('puts the board back after SIGTERM while a program of the owner runs', async () => {
    const { child, ended } = await ownerBesideChild()
    child.kill('SIGTERM')
    await ended
    expect(child.signalCode).toBe('SIGTERM')
    expect(devices[0]!.powerLimitW()).toBe(350)
  })

  it('leaves it to the next program where the watchdog is killed with the owner', async () => {
    const { child, ended, watchdogPid } = await ownerBesideChild()
    process.kill(watchdogPid, 'SIGKILL')
    child.kill('SIGKILL')
    await ended
    await eventually(() => processIdentity(watchdogPid) === null, 'the watchdog has ended')
    expect(devices[0]!.powerLimitW()).toBe(250)
    await openGpu(1, { libraryPath: host.libraryPath, leaseFolder: host.leaseFolder })
    expect(devices[0]!.powerLimitW()).toBe(350)
    expect(new LeaseFolder(host.leaseFolder).journaled()).toEqual([])
  })
})
