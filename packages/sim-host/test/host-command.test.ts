import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseLoad } from '../src/simulate-command.js'
import { buildPrograms, cacheFolder, eventually, missingCompiler, outcome } from './built-host.js'

describe('load on the command line', () => {
  it('is network:share:batch[:board]', () => {
    expect(parseLoad('resnet50:50:32, vgg16:25:8:1')).toEqual([
      { model: 'resnet50', mpsPercent: 50, batchSize: 32, gpuIndex: 0 },
      { model: 'vgg16', mpsPercent: 25, batchSize: 8, gpuIndex: 1 },
    ])
    for (const bad of ['', 'resnet50', 'resnet50:50', 'resnet50:x:1', 'resnet50:50:1:0:9']) {
      expect(() => parseLoad(bad)).toThrow(/network:share:batch/)
    }
  })
})

describe.skipIf(missingCompiler)(`pctodl sim host${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let cli: string
  let temporary: string
  let env: NodeJS.ProcessEnv
  const host = (...args: string[]) => outcome(process.execPath, [cli, 'host', '--gpu', '3080Ti', ...args], env)
  const folders = () => readdirSync(temporary).filter((name) => name.startsWith('pctodl-gpu-sim-'))

  beforeAll(async () => {
    const built = await buildPrograms()
    cli = built.cli
    return () => built.remove()
  })
  beforeEach(() => {
    temporary = mkdtempSync(join(tmpdir(), 'pctodl-host-test-'))
    env = { ...process.env, TMPDIR: temporary, XDG_CACHE_HOME: cacheFolder }
  })
  afterEach(() => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }))

  it('returns the exit code of the command and leaves nothing behind', async () => {
    const script = 'nvidia-smi -L; echo "$CUDA_MPS_PIPE_DIRECTORY"; exit 7'
    const { code, stdout } = await host('--', 'sh', '-c', script)
    expect(code).toBe(7)
    expect(stdout).toContain('GPU 0: NVIDIA GeForce RTX 3080 Ti')
    expect(stdout).toContain(temporary)
    expect(folders()).toEqual([])
    expect(await host('--', 'sh', '-c', 'kill -TERM $$')).toMatchObject({ code: 143 })
    expect(await host('--', 'no-such-command')).toMatchObject({ code: 127 })
    expect(folders()).toEqual([])
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('hands %s to the command and removes its folder', async (signal) => {
    const script = `trap 'echo caught; exit 5' TERM INT; echo ready; while :; do sleep 0.1; done`
    const child = spawn(process.execPath, [cli, 'host', '--gpu', '3080Ti', '--', 'sh', '-c', script], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk
    })
    const code = new Promise((resolve) => child.once('close', resolve))
    await eventually(async () => output.includes('ready'), 'the command runs')
    expect(folders()).toHaveLength(1)
    child.kill(signal)
    expect(await code).toBe(5)
    expect(output).toBe('ready\ncaught\n')
    expect(folders()).toEqual([])
  })

  it('removes the folder of a host that was killed outright, at the next start, and no other', async () => {
    const child = spawn(process.execPath, [cli, 'host', '--gpu', '3080Ti', '--', 'sh', '-c', 'echo ready; sleep 60'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    await new Promise((resolve) => child.stdout.once('data', resolve))
    const [stale] = folders()
    mkdirSync(join(temporary, 'pctodl-gpu-sim-alive'))
    writeFileSync(join(temporary, 'pctodl-gpu-sim-alive', 'owner'), `${process.ppid} \n`)
    mkdirSync(join(temporary, 'pctodl-gpu-sim-unowned'))
    process.kill(-child.pid!, 'SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
    expect(existsSync(join(temporary, stale!))).toBe(true)
    await host('--', 'true')
    expect(existsSync(join(temporary, stale!))).toBe(false)
    expect(existsSync(join(temporary, 'pctodl-gpu-sim-unowned'))).toBe(true)
  })

  it('explains wrong usage', async () => {
    expect(await host()).toMatchObject({ code: 2, stderr: expect.stringContaining('no command to run') })
    const unknown = await outcome(process.execPath, [cli, 'host', '--gpu', 'Voodoo2', '--', 'true'], env)
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("unknown GPU 'Voodoo2'") })
    expect(await host('--load', 'resnet50:500:1', '--', 'true')).toMatchObject({ code: 2 })
    expect(await host('--load', 'nonet:50:1', '--', 'true')).toMatchObject({ code: 2 })
    expect(folders()).toEqual([])
    const outside = await outcome(process.execPath, [cli, 'tenant', '--network', 'resnet50'], env)
    expect(outside).toMatchObject({ code: 1, stderr: expect.stringContaining('no simulated host') })
  })

  it('says what to install where there is no compiler', async () => {
    const poor = { ...env, XDG_CACHE_HOME: temporary, CC: 'no-such-compiler' }
    const result = await outcome(process.execPath, [cli, 'host', '--gpu', '3080Ti', '--', 'true'], poor)
    expect(result).toMatchObject({ code: 1, stderr: expect.stringMatching(/apt install gcc.*dnf install gcc/s) })
  })
})
