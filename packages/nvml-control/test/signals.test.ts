import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  isRunning,
  LeaseFolder,
  loadNvml,
  type NvmlDevice,
  type ProcessIdentity,
  processIdentity,
} from '../src/index.js'
import { type BuiltChildren, buildChildren } from './built-children.js'
import { eventually, missingCompiler, type RunningHost, startHost } from './simulated-host.js'

describe.skipIf(missingCompiler)(
  `a signal to \`pctodl gpu lock\`${missingCompiler ? ` (${missingCompiler})` : ''}`,
  () => {
    let host: RunningHost
    let children: BuiltChildren
    let device: NvmlDevice
    let folder: string
    let lock: ChildProcess
    let ended: Promise<number | string>
    let errors = ''

    beforeAll(async () => {
      ;[host, children] = await Promise.all([
        startHost(),
        buildChildren('test/fixtures/gpu.ts', 'test/fixtures/working-child.ts'),
      ])
      device = loadNvml({ libraryPath: host.libraryPath }).device(0)
    })
    afterAll(async () => {
      children?.remove()
      await host?.stop()
    })
    beforeEach(() => {
      folder = mkdtempSync(path.join(tmpdir(), 'pctodl-signals-'))
    })
    afterEach(() => {
      lock.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    })

    /** `lock` with a program that goes on for a while; resolves when that runs. */
    async function hold(stubbornMs: number, wrapper: readonly string[] = []): Promise<ProcessIdentity> {
      const file = path.join(folder, 'pid')
      const program = [process.execPath, children.file('working-child'), file, String(stubbornMs)]
      const at = ['--library', host.libraryPath, '--lease-dir', host.leaseFolder, '--access', 'direct']
      const words = [children.file('gpu'), 'lock', '--limit', '250', ...at, '--', ...wrapper, ...program]
      lock = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'] })
      errors = ''
      lock.stderr!.on('data', (text) => {
        errors += text
      })
      ended = new Promise((resolve) => lock.once('close', (code, signal) => resolve(code ?? signal!)))
      await eventually(() => existsSync(file) && readFileSync(file, 'utf8') !== '', 'the program runs')
      expect(device.powerLimitW()).toBe(250)
      return processIdentity(Number(readFileSync(file, 'utf8')))!
    }

    it.each([
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const)('%s waits for the program, then puts the board back, then ends with %d', async (signal, code) => {
      const program = await hold(700)
      let cappedAsLongAsItRuns = true
      const watching = setInterval(() => {
        const limitW = device.powerLimitW()
        // Read in this order: a program that runs now did so when the limit was read.
        if (isRunning(program) && limitW !== 250) cappedAsLongAsItRuns = false
      }, 2)
      lock.kill(signal)
      expect(await ended).toBe(code)
      clearInterval(watching)
      expect(isRunning(program)).toBe(false)
      expect(cappedAsLongAsItRuns).toBe(true)
      expect(device.powerLimitW()).toBe(350)
      expect(new LeaseFolder(host.leaseFolder).journaled()).toEqual([])
    })

    it('is not outlived by what the program has started', async () => {
      // `sh` ends at once, and leaves its child behind.
      const program = await hold(60_000, ['sh', '-c', '"$@" & wait', 'sh'])
      lock.kill('SIGTERM')
      expect(await ended).toBe(143)
      expect(isRunning(program)).toBe(false)
      expect(device.powerLimitW()).toBe(350)
    })

    it('a second time ends what does not end by itself', async () => {
      const program = await hold(60_000)
      lock.kill('SIGINT')
      await eventually(() => existsSync(path.join(folder, 'pid.told')), 'the program is told to end')
      expect([isRunning(program), device.powerLimitW()]).toEqual([true, 250])
      lock.kill('SIGINT')
      expect(await ended).toBe(130)
      expect(isRunning(program)).toBe(false)
      expect(device.powerLimitW()).toBe(350)
    })

    it('says what it could not put back, and which command does', async () => {
      await hold(0)
      await host.call('loseBoard', 0)
      lock.kill('SIGINT')
      expect(await ended).toBe(1)
      expect(errors).toMatch(/GPU 0 could not be put back: power limit 350 W: .*GPU_IS_LOST.*`pctodl gpu restore`/)
      await host.call('findBoard', 0)
      new LeaseFolder(host.leaseFolder).remove(device.uuid)
    })
  },
)
