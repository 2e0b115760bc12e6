import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { SimulatedHost } from '../src/simulated-host.js'
import {
  type BuiltPrograms,
  buildPrograms,
  eventually,
  missingCompiler,
  outcome,
  quickStart,
  startHost,
} from './built-host.js'

/** What a scenario does to real processes, daemons and monitors, beyond what it does to the board. */
describe.skipIf(missingCompiler)(`faults in host mode${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let built: BuiltPrograms
  let host: SimulatedHost | undefined
  let env: NodeJS.ProcessEnv
  beforeAll(async () => {
    built = await buildPrograms()
  })
  afterEach(() => host?.close())
  afterAll(() => built?.remove())

  const start = async () => {
    const started = await startHost(built.programs, { ...quickStart('3080Ti'), privilege: 'everyone' })
    ;({ host, env } = started)
    // Faults strike when what they need has happened: how long that takes is the machine's affair.
    return started.host.gpus[0]!
  }
  const control = async (line: string) => (await outcome('nvidia-cuda-mps-control', [], env, `${line}\n`)).stdout.trim()

  function tenant(...args: string[]) {
    const all = args.length > 0 ? args : ['tenant', '--network', 'mnasnet1_0', '--batch', '8']
    const child = spawn(process.execPath, [built.cli, ...all], { env })
    let [printed, error] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk
    })
    child.stderr.on('data', (chunk: Buffer) => {
      error += chunk
    })
    const ended = new Promise<{ code: number | null; signal: string | null; error: string }>((resolve) =>
      child.once('close', (code, signal) => resolve({ code, signal, error })),
    )
    return { child, ended, printed: () => printed }
  }

  it('an MPS server with a faulty client is in FAULT until all of its clients have gone', async () => {
    const gpu = await start()
    await outcome('nvidia-cuda-mps-control', ['-d'], env)
    const [first, second] = [tenant(), tenant()]
    await eventually(async () => first.printed() !== '' && second.printed() !== '', 'both are attached')
    const server = await control('get_server_list')
    expect(await control(`get_server_status ${server}`)).toBe('ACTIVE')
    // A stopped process does not notice, and so does not leave.
    second.child.kill('SIGSTOP')
    gpu.strike({ kind: 'mps-server-fault', atMs: 0 })
    expect(await first.ended).toMatchObject({ code: 1, error: expect.stringContaining('CUDA error 719') })
    expect(await control(`get_server_status ${server}`)).toBe('FAULT')
    expect(await tenant().ended).toMatchObject({ code: 1, error: expect.stringContaining('CUDA error 807') })
    second.child.kill('SIGCONT')
    expect(await second.ended).toMatchObject({ code: 1, error: expect.stringContaining('CUDA error 719') })
    await eventually(async () => (await control(`get_server_status ${server}`)) === 'ACTIVE', 'the server recovers')
    const third = tenant()
    await eventually(async () => third.printed().includes('"mps":true'), 'clients are served again')
    third.child.kill()
    await third.ended
  })

  it('an MPS daemon that crashes takes its clients with it, and can be started again', async () => {
    const gpu = await start()
    await outcome('nvidia-cuda-mps-control', ['-d'], env)
    const work = tenant()
    await eventually(async () => work.printed() !== '', 'it is attached')
    gpu.strike({ kind: 'mps-daemon-crash', atMs: 0 })
    expect(await work.ended).toMatchObject({ code: 1, error: expect.stringContaining('CUDA error 806') })
    const gone = await outcome('nvidia-cuda-mps-control', [], env, 'get_server_list\n')
    expect(gone).toMatchObject({ code: 1, stderr: 'Cannot find MPS control daemon process\n' })
    expect((await outcome('nvidia-cuda-mps-control', ['-d'], env)).code).toBe(0)
    expect(await control('get_server_list')).toBe('')
  })

  it('a client that is killed is killed', async () => {
    const gpu = await start()
    const work = tenant()
    await eventually(async () => work.printed() !== '', 'it is attached')
    gpu.strike({ kind: 'client-killed', atMs: 0 })
    expect(await work.ended).toMatchObject({ signal: 'SIGKILL' })
  })

  it('readings that fail are errors, not zeros', async () => {
    const gpu = await start()
    gpu.strike({ kind: 'telemetry-failing', atMs: 0 })
    const fields = 'power.draw,clocks.sm,memory.used,temperature.gpu,utilization.gpu,power.limit'
    const query = () => outcome('nvidia-smi', [`--query-gpu=${fields}`, '--format=csv,noheader'], env)
    await eventually(async () => (await query()).stdout.startsWith('[Unknown Error]'), 'telemetry fails')
    expect((await query()).stdout).toBe(`${Array(5).fill('[Unknown Error]').join(', ')}, 350.00 W\n`)
    expect((await outcome('nvidia-smi', [], env)).stdout).toContain(
      '|ERR!  ERR!    N/A          ERR! /   350W |      ERR! /   12288MiB |    ERR!      Default |',
    )
    expect((await outcome('nvidia-smi', ['-q', '-x'], env)).stdout).toContain('<gpu_temp>Unknown Error</gpu_temp>')
  })

  it('a stand-in for vLLM whose port is taken ends, and its process leaves the board', async () => {
    await start()
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const args = [built.cli, 'llm', '--parameters', '1e6', '--port', `${port}`]
    const { code, stderr } = await outcome(process.execPath, args, env).finally(() => taken.close())
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('EADDRINUSE') })
  })

  it('a stand-in for vLLM that loads a model ends at the first signal', async () => {
    await start()
    const loading = tenant('llm', '--parameters', '1e12', '--port', '0')
    const processes = ['--query-compute-apps=pid', '--format=csv,noheader']
    const pid = `${loading.child.pid}`
    await eventually(async () => (await outcome('nvidia-smi', processes, env)).stdout.includes(pid), 'it is attached')
    loading.child.kill('SIGINT')
    expect(await loading.ended).toMatchObject({ code: 130 })
  })
})
