import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { longTests } from '../../../test/long-tests.js'
import { pythonWith } from '../../../test/python-environment.js'
import type { SimulatedHost } from '../src/simulated-host.js'
import {
  type BuiltPrograms,
  buildPrograms,
  eventually,
  missingCompiler,
  outcome,
  run,
  startHost,
} from './built-host.js'

const python =
  longTests && !missingCompiler
    ? // A Triton is a program of the system's Python: others lack the library that it is linked with.
      pythonWith(['nvidia-pytriton==0.7.0'], ['pytriton', 'tritonclient.grpc', 'tritonclient.http'], '/usr/bin/python3')
    : undefined
const board = '3080Ti'
const [network, batchSize, clients] = ['vgg19', 512, 2]
const MIN_BUSY_SHARE = 0.96
const port = 21_000 + (process.pid % 4000) * 3

describe.skipIf(!python)(`NVIDIA Triton on a simulated board${python ? '' : ' (weekly, with nvidia-pytriton)'}`, () => {
  let built: BuiltPrograms
  let host: SimulatedHost
  let env: NodeJS.ProcessEnv
  let triton: ChildProcess | undefined
  let said = ''

  beforeAll(async () => {
    built = await buildPrograms()
    ;({ host, env } = await startHost(built.programs, { board, privilege: 'everyone' }))
    const script = path.join(import.meta.dirname, '..', 'examples', 'triton', 'serve.py')
    triton = spawn(python!, [script, network, String(port)], { env: { ...env, LD_PRELOAD: 'libnvidia-ml.so.1' } })
    for (const stream of [triton.stdout!, triton.stderr!]) {
      stream.on('data', (chunk: Buffer) => {
        said += chunk
      })
    }
    const isReady = () => fetch(`http://localhost:${port}/v2/models/${network}/ready`).then(({ ok }) => ok)
    await eventually(() => isReady().catch(() => false), 'Triton serves').catch((error) => {
      throw new Error(`${error}: ${said}`)
    })
  })
  afterAll(async () => {
    const ended = new Promise((resolve) => triton?.once('close', resolve))
    triton?.kill('SIGTERM')
    if (triton) await ended
    host?.close()
    built?.remove()
  })

  async function load(protocol: 'http' | 'grpc') {
    const [gpu] = host.gpus
    const url = `localhost:${protocol === 'http' ? port : port + 1}`
    const client = path.join(import.meta.dirname, 'triton-client.py')
    // Watts and clients settle within its first quarter.
    const words = [client, protocol, url, network, String(batchSize), String(clients), '24']
    const middle = new Promise<number>((resolve) => {
      setTimeout(() => {
        const before = gpu!.truth()
        setTimeout(() => {
          const after = gpu!.truth()
          resolve((1000 * (after.energyJ - before.energyJ)) / (after.timeMs - before.timeMs))
        }, 10_000)
      }, 10_000)
    })
    const { code, stdout, stderr } = await outcome(python!, words, env)
    expect([code, stderr]).toEqual([0, ''])
    const reply: { requests: number; latencyMs: number; durationMs: number } = JSON.parse(stdout)
    return { ...reply, watts: await middle }
  }

  it.for([
    ['http', 350],
    ['grpc', 150],
    ['http', 200],
  ] as const)('takes and draws over %s what the engine predicts at %i W', async ([protocol, limitW], { skip }) => {
    await run('nvidia-smi', ['-pl', String(limitW)], { env })
    // The firmware reads this unit's own sensor.
    const steady = simulateSteadyState(board, { powerLimitW: host.gpus[0]!.trueWatts(limitW), mps: 'off' })({
      tenants: [{ model: network, batchSize, mpsPercent: 100 }],
      smClockMhz: host.gpus[0]!.spec.boostClockMhz,
      memClockMhz: host.gpus[0]!.spec.performanceMemClocksMhz[0]!,
    })
    const predictedMs = steady.tenants[0]!.batchMs
    const busyShare = ({ latencyMs, durationMs }: { latencyMs: number; durationMs: number }) =>
      (clients * durationMs) / latencyMs
    let measured = await load(protocol)
    // Between two batches the board waits for Triton: on a machine that others keep busy, too long for this to say anything.
    for (let i = 0; i < 3 && busyShare(measured) < MIN_BUSY_SHARE; i++) measured = await load(protocol)
    if (busyShare(measured) < MIN_BUSY_SHARE) skip('void: Triton came too late, on a machine that others keep busy')
    const { requests, latencyMs, durationMs, watts } = measured
    const off = (value: number, wanted: number) => Math.abs(value / wanted - 1)
    const figures = `${requests} requests: ${latencyMs} ms, ${durationMs} ms on the board, predicted ${predictedMs}; ${watts} W, predicted ${steady.powerW}`
    console.info(figures)
    expect(off(durationMs, predictedMs), figures).toBeLessThan(0.05)
    // Each waits for the other's batch, then for its own.
    expect(off(latencyMs, clients * predictedMs), figures).toBeLessThan(0.05)
    expect(off(watts, steady.powerW), figures).toBeLessThan(0.05)
  })

  it("is seen by Triton's own metrics, through DCGM", async () => {
    const metrics = await (await fetch(`http://localhost:${port + 2}/metrics`)).text()
    const value = (name: string) => Number(new RegExp(`^${name}\\{.*\\} (.*)$`, 'm').exec(metrics)?.[1])
    expect(metrics).toContain(host.boards[0]!.uuid)
    expect(value('nv_gpu_power_limit')).toBe(200)
    expect(value('nv_energy_consumption')).toBeGreaterThan(1000)
    expect(value('nv_gpu_memory_used_bytes')).toBeGreaterThan(2 ** 30)
  })
})
