import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isAlive } from '../src/board-file.js'
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

describe.skipIf(missingCompiler)(`nvidia-cuda-mps-control${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: SimulatedHost
  let env: NodeJS.ProcessEnv
  let built: BuiltPrograms
  const control = (input: string, ...args: string[]) => outcome('nvidia-cuda-mps-control', args, env, input)
  const pidFile = () => join(env['CUDA_MPS_PIPE_DIRECTORY']!, 'nvidia-cuda-mps-control.pid')

  beforeAll(async () => {
    built = await buildPrograms()
    ;({ host, env } = await startHost(built.programs, { ...quickStart('3080Ti'), privilege: 'everyone' }))
  })
  afterAll(() => {
    host?.close()
    built?.remove()
  })

  /** A process that uses the board, and the lines it prints. */
  function tenant(share?: string) {
    const variables = share === undefined ? env : { ...env, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: share }
    const child = spawn(process.execPath, [built.cli, 'tenant', '--network', 'mobilenet_v2', '--batch', '8'], {
      env: variables,
    })
    const printed: { state?: string; samples?: number; mps?: boolean; mpsPercent?: number }[] = []
    child.stdout.on('data', (chunk: Buffer) => {
      printed.push(
        ...String(chunk)
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      )
    })
    let error = ''
    child.stderr.on('data', (chunk: Buffer) => {
      error += chunk
    })
    const ended = new Promise<{ code: number | null; error: string }>((resolve) =>
      child.once('close', (code) => resolve({ code, error })),
    )
    return { child, printed, ended }
  }

  it('misses the daemon', async () => {
    expect(await control('get_server_list\n')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Cannot find MPS control daemon process\n',
    })
  })

  it('starts one daemon, in spite of what a dead one left', async () => {
    mkdirSync(env['CUDA_MPS_PIPE_DIRECTORY']!, { recursive: true })
    writeFileSync(pidFile(), '999999\n')
    expect(await control('', '-d')).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(isAlive(Number(readFileSync(pidFile(), 'utf8')))).toBe(true)
    expect(await control('', '-d')).toMatchObject({
      code: 1,
      stderr: 'An instance of this daemon is already running\n',
    })
    expect((await control('get_default_active_thread_percentage\nget_server_list\n')).stdout).toBe('100.0\n')
  })

  it('serves clients that read their share at their start', async () => {
    const work = tenant('25')
    await eventually(async () => work.printed.some((line) => line.state === 'running' && line.samples! > 0), 'it runs')
    expect(work.printed[0]).toMatchObject({ mps: true, mpsPercent: 25 })
    const server = (await control('get_server_list\n')).stdout.trim()
    expect(isAlive(Number(server))).toBe(true)
    expect((await control(`get_client_list ${server}\n`)).stdout.trim()).toBe(String(work.child.pid))
    const apps = await outcome('nvidia-smi', ['--query-compute-apps=pid', '--format=csv,noheader'], env)
    expect(apps.stdout.trim()).toBe(String(work.child.pid))
    await control(`terminate_client ${server} ${work.child.pid}\n`)
    expect(await work.ended).toEqual({ code: 1, error: expect.stringContaining('CUDA error 810') })
  })

  it('lets only clients in where the board is exclusive', async () => {
    await outcome('nvidia-smi', ['-c', 'EXCLUSIVE_PROCESS'], env)
    const client = tenant('50')
    await eventually(async () => client.printed.length > 0, 'the client is attached')
    const elsewhere = { ...env, CUDA_MPS_PIPE_DIRECTORY: join(host.folder, 'no-daemon-here') }
    const refused = await outcome(process.execPath, [built.cli, 'tenant', '--network', 'mobilenet_v2'], elsewhere)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('CUDA error 46') })
    client.child.kill('SIGTERM')
    expect((await client.ended).code).toBe(0)
    await outcome('nvidia-smi', ['-c', '0'], env)
  })

  it('quits, with its servers, and tidies up', async () => {
    const server = (await control('get_server_list\n')).stdout.trim()
    const daemon = Number(readFileSync(pidFile(), 'utf8'))
    expect((await control('quit\n')).code).toBe(0)
    await eventually(async () => !isAlive(daemon) && !isAlive(Number(server)), 'daemon and server end')
    expect(existsSync(pidFile())).toBe(false)
    expect((await control('quit\n')).code).toBe(1)
  })

  it('ends the daemon with the host', async () => {
    const other = await startHost(built.programs, { load: [{ model: 'mobilenet_v2', mpsPercent: 50, batchSize: 4 }] })
    const pid = Number(readFileSync(join(other.env['CUDA_MPS_PIPE_DIRECTORY']!, 'nvidia-cuda-mps-control.pid'), 'utf8'))
    expect(isAlive(pid)).toBe(true)
    other.host.close()
    await eventually(async () => !isAlive(pid), 'the daemon ends')
    expect(existsSync(other.host.folder)).toBe(false)
  })
})
