import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { LeaseFolder, type NvmlDevice, openGpu, processIdentity, Sampler } from '@pctodl/nvml-control'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { someOf } from '../../../test/long-tests.js'
import { eventually, missingCompiler, type RunningHost, startHost } from '../../nvml-control/test/simulated-host.js'
import { pctodlHetero } from '../src/commands.js'
import { readProfile, withBoards } from '../src/index.js'
import { madeUpTrace, writeProfile } from './made-up-trace.js'

const trainer = path.join(import.meta.dirname, 'fixtures', 'train.mjs')
const isRunning = (pid: number) => processIdentity(pid) !== null
const train = ['--', process.execPath, trainer]

/** Boards of a simulated host, with work on them that no process of ours does: what is trained here uses no GPU. */
describe.skipIf(missingCompiler)(`on a host with GPUs (${missingCompiler ?? 'simulated'})`, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-hetero-host-'))
  const file = (name: string) => path.join(folder, name)
  let host: RunningHost
  let devices: NvmlDevice[]
  let boards: string[]

  beforeAll(async () => {
    const load = { model: 'resnet50', mpsPercent: 100, batchSize: 32 }
    host = await startHost({ gpus: 2, tenants: [0, 1].map((gpuIndex) => ({ gpuIndex, ...load })) })
    const options = { libraryPath: host.libraryPath, leaseFolder: host.leaseFolder }
    devices = await Promise.all([0, 1].map(async (index) => (await openGpu(index, options)).device))
    boards = ['--library', host.libraryPath, '--lease-dir', host.leaseFolder]
  })
  afterEach(() => {
    // However a test ended: limits are as they were found, and nobody holds a board.
    expect(devices.map((device) => device.powerLimitW())).toEqual([350, 350])
    expect(new LeaseFolder(host.leaseFolder).journaled()).toEqual([])
  })
  afterAll(async () => {
    await host?.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  const call = (argv: readonly string[], signal?: AbortSignal, onError?: (text: string) => void) =>
    callCommand('pctodl hetero', pctodlHetero, argv, { ...(signal && { signal }), ...(onError && { onError }) })

  const collect = (output: string, ...more: string[]) => [
    ...[
      'collect',
      '--gpu',
      '1',
      ...boards,
      '--batches',
      '8,32',
      '--limits',
      '300,200',
      '--warmup',
      '2',
      '--steps',
      '8',
    ],
    ...['--idle', '0.3', '--output', file(output), ...more],
    ...train,
    '--batch-size',
    '{batch}',
  ]

  it('stops sampling a board before it gives the board back', async () => {
    const stop = Sampler.prototype.stop
    const ends: string[] = []
    const spy = vi.spyOn(Sampler.prototype, 'stop').mockImplementation(async function (this: Sampler) {
      await stop.call(this)
      ends.push(new LeaseFolder(host.leaseFolder).journaled().length > 0 ? 'while held' : 'too late')
    })
    const options = { libraryPath: host.libraryPath, leaseFolder: host.leaseFolder }
    await withBoards(['1'], options, ([board]) => board!.setPowerLimit(300)).finally(() => spy.mockRestore())
    expect(ends).toEqual(['while held'])
  })

  describe('collect', () => {
    it('measures every batch size under every limit, and the planner reads what it writes', async () => {
      const { code, stdout, stderr } = await call(collect('profile.json', '--repeats', '2'))
      expect(stderr).toMatch(/^each of 2 batch sizes takes at least 41 steps\nbatch 8, 300 W: /)
      expect(code).toBe(0)
      expect(stdout).toMatch(/^8 windows on NVIDIA GeForce RTX 3080 Ti, [\d.]+ W idle -> /)
      const { rows, gpu } = JSON.parse(readFileSync(file('profile.json'), 'utf8'))
      expect(gpu.uuid).toBe(devices[1]!.uuid)
      expect(rows.map((row: object) => Object.values(row).slice(0, 4).join(' '))).toEqual(
        ['8', '32'].flatMap((batch) => ['300 8 0', '200 8 0', '300 8 1', '200 8 1'].map((rest) => `${batch} ${rest}`)),
      )
      const profile = readProfile(file('profile.json'), { idlePowerW: 20 })
      for (const { batchSize, powerLimitW, timeS, energyJ } of profile.rows) {
        // A timer may be late on a busy machine, never early by more than a millisecond.
        expect(timeS).toBeGreaterThan(0.004 + batchSize / 2000 - 0.001)
        expect(energyJ / timeS).toBeGreaterThan(60)
        expect(energyJ / timeS).toBeLessThan(1.3 * powerLimitW)
      }
      expect(profile.unit).toBe('step')
    })

    it('locks clocks under the largest limit, after the limits', async () => {
      const { code, stderr } = await call(collect('clocks.json', '--sm-clocks', '1200,900'))
      expect(code, stderr).toBe(0)
      const { rows } = JSON.parse(readFileSync(file('clocks.json'), 'utf8'))
      const settings = rows.map(
        (row: { powerLimitW: number; smClockMhz?: number }) => `${row.powerLimitW} ${row.smClockMhz}`,
      )
      const each = ['300 undefined', '200 undefined', '300 1200', '300 900']
      expect(settings).toEqual([...each, ...each])
    })

    it('puts the limit back where the training ends too early', async () => {
      const { code, stderr } = await call([...collect('early.json'), '--steps', '15'])
      expect(code).toBe(1)
      expect(stderr).toMatch(/ended \(exit code 0\) after 15 steps, but at least \d+ are needed/)
      expect(existsSync(file('early.json'))).toBe(false)
    })

    it('keeps finished batch sizes where a later one fails', async () => {
      const { code } = await call([...collect('half.json'), '--fail-batch', '32'])
      expect(code).toBe(1)
      const { rows } = JSON.parse(readFileSync(file('half.json'), 'utf8'))
      expect(rows.map((row: { batchSize: number }) => row.batchSize)).toEqual([8, 8])
    })

    it('puts the limit back where the training fails, or cannot be started', async () => {
      const { code, stderr } = await call([...collect('fails.json'), '--fail-at', '5'])
      expect(code).toBe(1)
      expect(stderr).toMatch(/ended \(exit code 3\) after 4 steps/)
      const options = collect('none.json').slice(0, -5)
      const none = await call([...options, '--', 'no-such-program', '{batch}'])
      expect(none.stderr).toMatch(/'no-such-program 8' ended \(command not found\) after 0 steps/)
    })

    it('puts the limit back when it is interrupted', async () => {
      const interrupted = new AbortController()
      const { code, stderr } = await call(collect('interrupted.json'), interrupted.signal, (text) => {
        if (text.startsWith('batch')) interrupted.abort(new Error('interrupted'))
      })
      expect(code).toBe(130)
      expect(stderr).toMatch(/interrupted\n$/)
    })

    it.each(someOf(['SIGINT', 'SIGTERM'] as const, 'SIGTERM'))(
      'puts the limit back after %s',
      async (signal) => {
        const code = signal === 'SIGINT' ? 130 : 143
        const root = path.resolve(import.meta.dirname, '../../..')
        const loader = pathToFileURL(path.join(root, 'node_modules/tsx/dist/loader.mjs')).href
        const program = path.join(import.meta.dirname, '../../cli/src/pctodl.ts')
        const args = [
          '--conditions=@pctodl/source',
          '--import',
          loader,
          program,
          'hetero',
          ...collect('signal.json', '--steps', '1000'),
        ]
        const env = { ...process.env, TRAINER_PID_FILE: file('trainer.pid') }
        const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'] })
        let stderr = ''
        child.stderr.on('data', (text) => (stderr += text))
        const ended = new Promise((resolve) => child.once('exit', resolve))
        await Promise.race([
          eventually(() => devices[1]!.powerLimitW() === 300, 'the limit is set'),
          ended.then(() => Promise.reject(new Error(stderr))),
        ])
        expect(devices[0]!.powerLimitW()).toBe(350)
        const trainerPid = Number(readFileSync(file('trainer.pid'), 'utf8'))
        expect(isRunning(trainerPid)).toBe(true)
        child.kill(signal)
        await ended
        expect(child.exitCode).toBe(code)
        await eventually(() => !isRunning(trainerPid), 'the training has ended')
      },
      60_000,
    )

    it.each([
      [['--batches', '8'], /batchSizes: got '8', expected at least two/],
      [['--limits', '300,300'], /powerLimitsW: got '300, 300', expected different positive numbers/],
      [['--step-pattern', '('], /Invalid regular expression/],
    ])('%# refuses what makes no profile', async (options, message) => {
      const replaced = collect('x.json').filter((word, i, all) => {
        const [name] = options
        return word !== name && all[i - 1] !== name
      })
      replaced.splice(1, 0, ...options)
      const { code, stderr } = await call(replaced)
      expect(stderr).toMatch(message)
      expect(code).toBe(2)
    })

    it('refuses a limit that the board has not, having changed nothing', async () => {
      const argv = collect('x.json').map((word) => (word === '300,200' ? '300,20' : word))
      const { code, stderr } = await call(argv)
      expect(code).toBe(1)
      expect(stderr).toMatch(/20/)
    })
  })

  describe('launch and compare', () => {
    const planFile = file('plan.json')
    const launcher = path.join(import.meta.dirname, 'fixtures', 'launcher.mjs')

    beforeAll(async () => {
      for (const [name, samplesPerS] of [
        ['fast', 1600],
        ['slow', 800],
      ] as const) {
        writeProfile(file(`${name}.json`), name, madeUpTrace({ samplesPerS, limitsW: [300, 200] }))
      }
      const gpus = ['fast', 'slow'].flatMap((name) => ['--gpu', `${name}=${file(`${name}.json`)}`])
      const { stdout } = await call(['plan', ...gpus, '--batch', '64', '--eta', '0', '--use-all', '--json'])
      writeFileSync(planFile, stdout)
    })

    const onBoards = ['--device', 'fast=0', '--device', 'slow=1']
    const command = ['--', process.execPath, launcher, '{world}', trainer]
    const launch = (...more: string[]) => ['launch', '--plan', planFile, ...onBoards, ...boards, ...more]

    it('runs a launcher under the limits of the plan, prints time and energy, and compares', async () => {
      const limits = new Set<string>()
      const argv = [...launch('--output', file('run.json')), ...command, '--steps', '30']
      const { code, stdout, stderr } = await call(argv, undefined, (text) => {
        if (text.includes('step 9/')) limits.add(devices.map((device) => device.powerLimitW()).join(' '))
      })
      expect(code, stderr).toBe(0)
      const plan = JSON.parse(readFileSync(planFile, 'utf8'))
      const visible = devices.map(({ uuid }) => uuid).join()
      for (const [rank, { share }] of plan.gpus.entries()) {
        expect(stderr).toContain(`rank ${rank} of 2 has ${share} on ${visible}\n`)
      }
      expect(stderr).toMatch(/^step 30\/30/m)
      expect([...limits]).toEqual([plan.gpus.map((gpu: { powerLimitW: number }) => gpu.powerLimitW).join(' ')])
      expect(stdout).toMatch(
        /^GPU +share +limit W +clock MHz +energy J\nfast .*\nslow .*\nin all: .*\nsteady: \d+ steps/,
      )
      const run = JSON.parse(readFileSync(file('run.json'), 'utf8'))
      expect(run.energyJ).toBeCloseTo(run.gpus[0].energyJ + run.gpus[1].energyJ, 9)
      expect(run.steady.timeS).toBeLessThan(run.timeS)

      const compared = await call(['compare', planFile, file('run.json')])
      expect(compared.code, compared.stderr).toBe(0)
      expect(compared.stdout).toMatch(/^one step +time s +against plan +energy J +against plan\nthis plan, predicted/)
      expect(compared.stdout).toMatch(
        /\nrun, measured .* [+-][\d.]+ % .* [+-][\d.]+ %\neven split, largest limits, predicted/,
      )
      const json = JSON.parse((await call(['compare', planFile, file('run.json'), '--json'])).stdout)
      expect(json[0].timeS).toBe(plan.timeS)
      expect(json[1].timeS).toBeCloseTo(run.steady.timeS / run.steady.steps, 12)
    })

    it('tells CUDA what CUDA takes, however the GPUs were named', async () => {
      const [fast, slow] = devices.map(({ pciBusId }) => pciBusId)
      const byBus = ['launch', '--plan', planFile, '--device', `fast=${fast}`, '--device', `slow=${slow}`, ...boards]
      const { code, stderr } = await call([...byBus, ...command, '--steps', '1'])
      expect(code, stderr).toBe(0)
      expect(stderr).toContain(`on ${devices.map(({ uuid }) => uuid).join()}\n`)
      const twice = ['launch', '--plan', planFile, '--device', 'fast=0', '--device', `slow=${fast}`, ...boards]
      expect((await call([...twice, ...command, '--steps', '1'])).code).not.toBe(0)
    })

    it('locks the clocks of a plan', async () => {
      const plan = JSON.parse(readFileSync(planFile, 'utf8'))
      plan.gpus[1].smClockMhz = 900
      writeFileSync(file('locked.json'), JSON.stringify(plan))
      const clocks = new Set<number>()
      const argv = ['launch', '--plan', file('locked.json'), ...onBoards, ...boards, ...command, '--steps', '30']
      const { code, stdout } = await call(argv, undefined, (text) => {
        if (text.includes('step 29/')) clocks.add(devices[1]!.smClockMhz())
      })
      expect(code).toBe(0)
      expect([...clocks]).toEqual([900])
      expect(stdout).toMatch(/^slow .* 900 /m)
      await eventually(() => devices[1]!.smClockMhz() > 900, 'the clock is put back')
    })

    it('says how a run failed, and puts the limits back', async () => {
      const { code, stderr, stdout } = await call([...launch(), ...command, '--fail-rank', '1', '--fail-at', '10'])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^out of memory$/m)
      expect(stderr).toMatch(/'.*' ended with exit code 3\n$/)
    })

    it('ends all when it is interrupted', async () => {
      const interrupted = new AbortController()
      const { code } = await call([...launch(), ...command], interrupted.signal, (text) => {
        if (text.includes('step 5')) interrupted.abort(new Error('interrupted'))
      })
      expect(code).toBe(130)
    })

    it('refuses what cannot be carried out', async () => {
      const usage = async (argv: readonly string[], message: RegExp) => {
        const { code, stderr } = await call(argv)
        expect(stderr).toMatch(message)
        expect(code).toBe(2)
      }
      const on = (plan: string, ...more: string[]) => ['launch', '--plan', plan, ...more, ...command]
      await usage(on(planFile, '--device', 'fast=0'), /--device: none for the plan's GPU slow/)
      await usage(on(planFile, '--device', 'fast=0', '--device', 'slow=0'), /--device: 0 is given twice/)
      await usage(on(planFile, ...onBoards, '--device', 'x=2'), /the plan has no GPU 'x'; it has fast, slow/)
      await usage(['launch', '--plan', planFile, ...onBoards], /no training command; give it after --/)
      await usage(on(file('fast.json'), ...onBoards), /fast\.json: format: .*expected a plan/)
      await usage(on(file('gone.json'), ...onBoards), /gone\.json', expected a plan/)
      await usage(['compare', planFile, planFile], /plan\.json: format: .*expected a run/)
      writeFileSync(
        file('windows.json'),
        JSON.stringify({ ...JSON.parse(readFileSync(planFile, 'utf8')), unit: 'window' }),
      )
      await usage(['compare', file('windows.json'), file('run.json')], /its unit is a window of unknown length/)
    })
  })
})
