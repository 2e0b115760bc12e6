import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { boardFileHeaderC } from '../src/board-file-layout.js'
import { nativeLibrary, PREBUILT_HASH_FILE, prebuiltPath, sourcesHash } from '../src/native-library.js'
import type { SimulatedHost } from '../src/simulated-host.js'
import {
  type BuiltPrograms,
  buildPrograms,
  cacheFolder,
  eventually,
  missingCompiler,
  outcome,
  run,
  startHost,
} from './built-host.js'

const native = fileURLToPath(new URL('../native', import.meta.url))
const suite = describe.skipIf(missingCompiler)

suite(`NVML library${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: SimulatedHost
  let env: NodeJS.ProcessEnv
  let probe: string
  let built: BuiltPrograms

  beforeAll(async () => {
    built = await buildPrograms()
    probe = join(built.folder, 'probe')
    await run('cc', ['-std=gnu11', '-o', probe, fileURLToPath(new URL('nvml-probe.c', import.meta.url)), '-ldl'])
    ;({ host, env } = await startHost(built.programs, { gpus: 2, privilege: 'everyone' }))
  })
  afterAll(() => {
    host?.close()
    built?.remove()
  })

  it('keeps the rules of the interface', async () => {
    const { stdout } = await run(probe, [], { env })
    const lines = new Map(
      stdout
        .trim()
        .split('\n')
        .map((line) => [line.split(' ')[0]!, line.slice(line.indexOf(' ') + 1)]),
    )
    expect(Object.fromEntries(lines)).toEqual({
      'count-before-init': '1',
      'shutdown-before-init': '1',
      'unsupported-before-init': '1',
      init: '0',
      'init-again': '0',
      'shutdown-inner': '0',
      count: '0',
      boards: '2',
      'count-null': '2',
      'handle-beyond': '2',
      handle: '0',
      'foreign-handle': '2',
      'null-handle': '2',
      'null-result': '2',
      'name-short': '7',
      name: '0',
      'name-is': 'NVIDIA GeForce RTX 3080 Ti',
      uuid: '0',
      'by-uuid': '0',
      same: '1',
      'by-bus': '0',
      'by-no-bus': '6',
      serial: '3',
      'clocks-size': '7',
      'clocks-count': '5',
      clocks: '0',
      'clocks-top': '9501',
      'graphics-unknown': '6',
      graphics: '0',
      'graphics-count': '127',
      'memory-version': '25',
      memory: '0',
      'memory-adds-up': '1',
      fields: '0',
      'field-186': '0 1',
      'field-83': '0 3',
      'field-82': '3 0',
      'field-999': '3 0',
      'processes-size': '0',
      'processes-count': '0',
      'utilization-null': '2',
      'clock-type': '2',
      accounting: '3',
      unsupported: '3',
      shutdown: '0',
      'after-shutdown': '1',
    })
  })

  it('answers every exported name without a crash', async () => {
    const { stdout: symbols } = await run('nm', ['-D', '--defined-only', join(host.folder, 'lib', 'libnvidia-ml.so.1')])
    const names = symbols.split('\n').flatMap((line) => line.match(/ T (nvml\w+)$/)?.[1] ?? [])
    expect(names.length).toBeGreaterThan(400)
    const { stdout } = await run(probe, ['all', ...names], { env })
    expect(stdout).toBe(`called ${names.length}\n`)
  })

  it('changes the board: clock and power follow a locked clock', async () => {
    const [gpu] = host.gpus
    gpu!.launch({ model: 'resnet50', mpsPercent: 100, batchSize: 32 })
    const sample = () => gpu!.sample()
    const settled = async () => {
      const { powerAverageW, powerInstantW } = await sample()
      return powerAverageW! > 200 && Math.abs(powerInstantW! - powerAverageW!) < 5
    }
    await eventually(settled, 'the load draws more than 200 W, and has done so for the second that the sensor averages')
    const before = await sample()
    expect((await outcome(probe, ['lock', '1003'], env)).stdout).toBe('init 0\nlock 0\n')
    await eventually(async () => (await sample()).smClockMhz === 1005, 'the clock is the nearest supported one')
    await eventually(
      async () => ((await sample()).powerAverageW ?? 0) < 0.8 * before.powerAverageW!,
      'power has fallen',
    )
  })

  it('refuses setters to everyone where the host says so', async () => {
    const strict = await startHost(built.programs, { privilege: 'nobody' })
    try {
      expect((await outcome(probe, ['lock', '1005'], strict.env)).stdout).toBe('init 0\nlock 4\n')
    } finally {
      strict.host.close()
    }
  })

  it.skipIf(process.geteuid?.() !== 0)(
    'refuses setters to a user who is not root (needs root to become one)',
    async () => {
      const driver = await startHost(built.programs)
      try {
        const readable = join(driver.host.folder, 'probe')
        await run('cp', [probe, readable])
        expect((await outcome(readable, ['lock', '1005'], driver.env)).stdout).toBe('init 0\nlock 0\n')
        const asNobody = `import os; os.setgid(65534); os.setuid(65534); os.execv('${readable}', ['probe', 'lock', '1005'])`
        expect((await outcome('python3', ['-c', asNobody], driver.env)).stdout).toBe('init 0\nlock 4\n')
      } finally {
        driver.host.close()
      }
    },
  )

  it('tells those who wait for events what happens to a board, and nothing else', async () => {
    const child = spawn(probe, ['events'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk
    })
    const ended = new Promise((resolve) => child.stdout.once('close', resolve))
    await eventually(async () => output.includes('waiting'), 'the probe waits')
    host.raiseEvent(0, 'clock')
    host.raiseEvent(1, 'xid', 13)
    host.raiseEvent(0, 'xid', 48)
    await host.loseBoard(0)
    await ended
    await host.findBoard(0)
    expect(output.split('\n').slice(1)).toEqual([
      'create 0',
      'types 0',
      'supported 28',
      'register-ecc 3',
      'register-xid 0',
      'none 10',
      'waiting',
      'event 1 8 48',
      'event 1 8 79',
      'ended 15',
      '',
    ])
  })

  it('comes with the package, and is compiled where that is of other sources', async () => {
    const prebuiltFolder = join(built.folder, 'prebuilt')
    const place = prebuiltPath(prebuiltFolder, `linux-${process.arch}`)
    mkdirSync(dirname(place), { recursive: true })
    copyFileSync(join(host.folder, 'lib', 'libnvidia-ml.so.1'), place)
    const options = { sourceFolder: native, prebuiltFolder, cacheFolder }
    expect(nativeLibrary(options)).toContain(cacheFolder)
    writeFileSync(join(prebuiltFolder, PREBUILT_HASH_FILE), `${sourcesHash(native)}\n`)
    expect(nativeLibrary(options)).toBe(place)
    writeFileSync(join(prebuiltFolder, PREBUILT_HASH_FILE), 'of a former release')
    expect(nativeLibrary(options)).toContain(cacheFolder)
    // It runs with C libraries of 2013 and later, so with those of every system that Node 20 runs on.
    const { stdout } = await run('objdump', ['-T', place])
    const versions = [...stdout.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor))
    expect(Math.max(...versions)).toBeLessThanOrEqual(17)
  })

  it('passes the faults of a scenario on', async () => {
    const faults = [{ kind: 'setter-refused', atMs: 0, reason: 'not-supported', setter: 'sm-clock' }] as const
    const faulty = await startHost(built.programs, { privilege: 'everyone', faults: { faults } })
    try {
      expect((await outcome(probe, ['read'], faulty.env)).stdout).toBe('init 0\npower 0\n')
      expect((await outcome(probe, ['lock', '1005'], faulty.env)).stdout).toBe('init 0\nlock 3\n')
      const smi = () => outcome('nvidia-smi', [], faulty.env)
      faulty.host.gpus[0]!.strike({ kind: 'gpu-lost', atMs: 0 })
      await eventually(async () => (await smi()).code === 15, 'the board is lost')
      expect((await smi()).stdout).toContain('GPU is lost')
      expect((await outcome(probe, ['read'], faulty.env)).stdout).toBe('init 0\npower 15\n')
    } finally {
      faulty.host.close()
    }
  })

  it('answers GPU_IS_LOST, and soon, when the simulator is killed in the middle of a call', async () => {
    // The host must be a process of its own here, to be killed.
    // What it leaves must not lie deep: the path of a socket has 107 bytes.
    const left = mkdtempSync(join(tmpdir(), 'pctodl-killed-'))
    onTestFinished(() => rmSync(left, { recursive: true, force: true, maxRetries: 5 }))
    const child = spawn(process.execPath, [built.cli, 'host', '--gpu', '3080Ti', '--allow-all', '--', probe, 'spin'], {
      env: { ...process.env, XDG_CACHE_HOME: cacheFolder, TMPDIR: left },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk
    })
    const ended = new Promise((resolve) => child.stdout.once('close', resolve))
    await eventually(async () => output.includes('spinning'), 'the probe spins')
    child.kill('SIGKILL')
    await ended
    expect(output).toBe('init 0\nspinning\nspin-ended 15\nread-after 15\nshutdown 0\ninit-after 9\n')
  })

  it('names the package to install where there is no compiler', () => {
    const options = { sourceFolder: native, cacheFolder: join(built.folder, 'empty'), compiler: 'no-such-compiler' }
    expect(() => nativeLibrary(options)).toThrow(expect.objectContaining({ code: 'NO_COMPILER' }))
    expect(() => nativeLibrary(options)).toThrow(/apt install gcc.*dnf install gcc/s)
  })

  it('compiles without a warning and exports nothing but NVML, and two functions of CUDA', async () => {
    writeFileSync(join(built.folder, 'board_file.h'), boardFileHeaderC())
    const sources = readdirSync(native).filter((name) => name.endsWith('.c'))
    const strict = ['-std=gnu11', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', `-I${built.folder}`, `-I${native}`]
    await run('cc', [...strict, ...sources.map((name) => join(native, name))])
    const { stdout } = await run('nm', ['-D', '--defined-only', join(host.folder, 'lib', 'libnvidia-ml.so.1')])
    expect(stdout).not.toMatch(/ [TBD] (?!nvml|cudaGetDeviceCount$|cudaDeviceGetPCIBusId$)/m)
  })
})
