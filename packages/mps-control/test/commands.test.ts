import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { loadNvml } from '@pctodl/nvml-control'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { mps } from '../src/commands.js'
import { type MpsHost, missingCompiler, startMpsHost } from './mps-host.js'

/** The built command line: what an operator runs. */
const built = fileURLToPath(new URL('../../cli/bin/pctodl.js', import.meta.url))

describe.skipIf(missingCompiler)(`pctodl mps${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: MpsHost
  let directory: string

  beforeAll(async () => {
    host = await startMpsHost()
    directory = path.join(host.folder, 'mps')
  })
  afterAll(async () => {
    await run('stop')
    await host?.stop()
  })

  async function run(...argv: string[]) {
    const split = argv.indexOf('--')
    const words =
      split < 0
        ? [...argv, '--directory', directory]
        : [...argv.slice(0, split), '--directory', directory, ...argv.slice(split)]
    return callCommand('pctodl mps', mps, words, { env: process.env })
  }

  it('starts a daemon that stays, tells of it, and stops it', async () => {
    expect(await run('status')).toMatchObject({ code: 0, stdout: `stopped at ${directory}/pipe\n` })
    expect(await run('start')).toMatchObject({
      code: 0,
      stdout: `export CUDA_MPS_PIPE_DIRECTORY=${directory}/pipe\nexport CUDA_MPS_LOG_DIRECTORY=${directory}/log\n`,
      stderr: expect.stringMatching(/^MPS daemon \d+ is active\n$/),
    })
    expect(await run('start')).toMatchObject({ code: 1, stderr: expect.stringMatching(/runs already/) })
    const worker = host.worker({ ...environment(), CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '50' })
    await expect.poll(async () => (await run('status')).stdout).toMatch(new RegExp(`^${worker.pid}  .*tenant`, 'm'))
    expect((await run('status')).stdout).toMatch(
      new RegExp(
        `^active, process \\d+ at .*\nserver \\d+: ACTIVE, 100 %, clients: ${worker.pid}\n${worker.pid}  .*\n$`,
      ),
    )
    expect(JSON.parse((await run('status', '--json')).stdout)).toMatchObject({ state: 'active', isOurs: true })
    worker.end()
    await worker.ended
    expect(await run('stop')).toMatchObject({ code: 0, stdout: 'the daemon has ended (quit)\n' })
    expect(await run('stop')).toMatchObject({ code: 0, stdout: 'no daemon was running\n' })
  })

  it('runs a command as a client of boards that are exclusive meanwhile', async () => {
    const seen = path.join(host.folder, 'seen')
    const script = `nvidia-smi --query-gpu=compute_mode --format=csv,noheader > ${seen}; env | grep CUDA_MPS | sort >> ${seen}; exit 5`
    // NVML is found through the variable of the host, which the linker reads at the start of a process: so this is one.
    const argv = ['start', '--gpu', '0', '--exclusive', '--directory', directory, '--', 'sh', '-c', script]
    const child = spawn(process.execPath, [built, 'mps', ...argv], { stdio: 'ignore' })
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(5)
    expect(readFileSync(seen, 'utf8')).toMatch(/^Exclusive_Process\nCUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100\n/)
    expect(loadNvml({ libraryPath: host.libraryPath }).deviceByIndex(0).computeMode()).toBe('default')
    expect((await run('status')).stdout).toMatch(/^stopped/)
  })

  it('finds what is wrong', async () => {
    mkdirSync(path.join(directory, 'pipe'), { recursive: true, mode: 0o700 })
    writeFileSync(path.join(directory, 'pipe', 'nvidia-cuda-mps-control.pid'), '4000000\n')
    const { code, stdout } = await run('doctor')
    expect(code).toBe(0)
    expect(stdout).toMatch(/ok {4}program: CUDA MPS Control/)
    expect(stdout).toMatch(/note {2}pid file: it names process 4000000, which has ended/)
    expect(stdout).toMatch(/note {2}daemon: none runs/)
    expect(JSON.parse((await run('doctor', '--program', 'no-such-program', '--json')).stdout)).toContainEqual({
      check: 'program',
      verdict: 'bad',
      detail: expect.stringMatching(/not on PATH.*install/),
    })
  })

  it.each([
    [['nonsense'], /unknown command/],
    [['start', '--exclusive'], /--exclusive needs --gpu/],
    [['start', '--default-percent', '0'], /1 to 100/],
    [['stop', '--grace-seconds', 'x'], /integer/],
  ] as const)('%j is an error of usage', async (argv, message) => {
    expect(await run(...argv)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) })
  })

  function environment() {
    return { CUDA_MPS_PIPE_DIRECTORY: `${directory}/pipe`, CUDA_MPS_LOG_DIRECTORY: `${directory}/log` }
  }
})

it('loads what it needs after the status of a socket was read', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-mps-test-'))
  try {
    const program = fileURLToPath(new URL('fixtures/ask-after-socket.mjs', import.meta.url))
    expect(await promisify(execFile)(process.execPath, [program, path.join(folder, 'socket')])).toMatchObject({
      stdout: "[ 'asked' ]\n",
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
