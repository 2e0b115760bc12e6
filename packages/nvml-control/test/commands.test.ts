import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exitCodeOf, type Terminal } from '@pctodl/command-line'
import { parsePlatformFile } from '@pctodl/platform'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { sparkline } from '../src/commands/watch.js'
import { gpu } from '../src/commands.js'
import { LeaseFolder, loadNvml, openGpu } from '../src/index.js'
import { eventually, missingCompiler, type RunningHost, startHost } from './simulated-host.js'

describe.skipIf(missingCompiler)(`pctodl gpu${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: RunningHost
  let folder: string
  const environment = { ...process.env }

  beforeAll(async () => {
    host = await startHost({ gpus: 2 })
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl-commands-'))
    // Commands that `lock` runs see the same boards.
    Object.assign(process.env, host.environment)
  })
  afterAll(async () => {
    Object.assign(process.env, environment)
    for (const name of Object.keys(host.environment)) if (!(name in environment)) delete process.env[name]
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    await host?.stop()
  })

  let ending = new AbortController()
  afterEach(() => {
    ending = new AbortController()
  })

  const run = (...argv: string[]) =>
    callCommand('pctodl gpu', gpu, argv, { signal: ending.signal, env: { ...process.env, ...host.environment } })
  const at = () => ['--library', host.libraryPath, '--lease-dir', host.leaseFolder]
  const device = (index = 0) => loadNvml({ libraryPath: host.libraryPath }).deviceByIndex(index)

  it('lists boards', async () => {
    const { code, stdout } = await run('list', ...at())
    expect(code).toBe(0)
    expect(stdout).toMatch(/^driver 550\.\S+, NVML 12\.\S+ \(.+libnvidia-ml.so.1\)\nGPU +name +UUID/)
    expect(stdout.trim().split('\n')).toHaveLength(4)
    const { boards } = JSON.parse((await run('list', '--json', ...at())).stdout)
    expect(boards).toMatchObject([{ index: 0, smCount: 80, mig: null }, { index: 1 }])
  })

  it('shows the other boards where one is lost', async () => {
    await host.call('loseBoard', 0)
    try {
      const listed = await run('list', ...at())
      expect([listed.code, listed.stderr]).toEqual([1, ''])
      expect(listed.stdout).toMatch(/^1 +NVIDIA GeForce RTX 3080 Ti/m)
      expect(listed.stdout).toMatch(/^GPU 0 cannot be read: .*NVML_ERROR_GPU_IS_LOST/m)
      for (const command of ['list', 'status']) {
        const { code, stdout } = await run(command, '--json', ...at())
        const boards = command === 'list' ? JSON.parse(stdout).boards : JSON.parse(stdout)
        expect([code, boards]).toEqual([
          1,
          [expect.objectContaining({ index: 1 }), expect.objectContaining({ gpu: '0', code: 'GPU_LOST' })],
        ])
      }
      const seen = await run('status', ...at())
      expect(seen.code).toBe(1)
      expect(seen.stdout).toMatch(/^GPU 1: NVIDIA.*^GPU 0 cannot be read/ms)
      const metrics = await scrape()
      expect(metrics).toMatch(/^pctodl_board_readable\{gpu="0",.*\} 0$/m)
      expect(metrics).toMatch(/^pctodl_board_readable\{gpu="1",.*\} 1$/m)
      expect(metrics).toMatch(/^DCGM_FI_DEV_POWER_USAGE\{gpu="1",.*\} \d/m)
      expect(metrics).not.toMatch(/^DCGM_FI_DEV_POWER_USAGE\{gpu="0"/m)
    } finally {
      await host.call('findBoard', 0)
    }
    expect((await run('status', ...at())).code).toBe(0)
  })

  /** What `serve` gives to Prometheus. */
  async function scrape(): Promise<string> {
    let url = ''
    const terminal: Terminal = {
      stdout: {
        write(text: string) {
          url = JSON.parse(text).url
        },
      },
      stderr: { write() {} },
      signal: ending.signal,
      env: process.env,
    }
    const served = exitCodeOf('pctodl gpu', gpu, ['serve', '--port', '0', '--json', ...at()], terminal)
    await eventually(() => url !== '', 'metrics are served')
    const response = await fetch(url)
    expect(response.status).toBe(200)
    const text = await response.text()
    ending.abort()
    expect(await served).toBe(0)
    return text
  }

  it('describes a board as a platform file', async () => {
    const file = path.join(folder, 'board.json')
    const { code, stdout } = await run('describe', '--gpu', '1', '--output', file, '--key', 'mine', ...at())
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/RTX 3080 Ti as 'mine': 80 SMs, \d+ clock states, 100 to 400 W/),
    ])
    expect(parsePlatformFile(readFileSync(file, 'utf8'))).toMatchObject({ key: 'mine', smCount: 80 })
    expect(parsePlatformFile((await run('describe', ...at())).stdout).key).toBe('3080Ti')
    const told = await run('describe', '--gpu', '1', '--output', file, '--key', 'mine', '--json', ...at())
    expect(JSON.parse(told.stdout)).toMatchObject({ file, key: 'mine', name: expect.stringContaining('3080 Ti') })
  })

  it('tells what boards do, once and again', async () => {
    const { stdout } = await run('status', '--gpu', '0', ...at())
    expect(stdout).toMatch(/power +\d+\.\d W average, \d+\.\d W instant, limit 350 W\n/)
    expect(stdout).toMatch(/lease +free/)
    const lines = (await run('watch', '--count', '3', '--period', '20', '--json', ...at())).stdout.trim().split('\n')
    const samples = lines.map((line) => JSON.parse(line))
    expect(samples.filter((sample) => sample.gpu === 0)).toHaveLength(3)
    expect(samples[0].powerAverageW).toBeGreaterThan(10)
  })

  it('draws over itself on a terminal', async () => {
    let drawn = ''
    const stdout = {
      isTTY: true,
      write(text: string) {
        drawn += text
      },
    }
    const terminal: Terminal = { stdout, stderr: stdout, signal: ending.signal, env: {} }
    expect(await gpu(['watch', '--count', '2', '--period', '20', ...at()], terminal)).toBe(0)
    expect(drawn.startsWith('\u001b[?25l\u001b[HGPU')).toBe(true)
    expect(drawn.endsWith('\u001b[?25h')).toBe(true)
    // Two idle boards, at a small part of what their limit allows.
    expect(drawn.match(/[▁-█]/g)).toContain('▁')
    expect(drawn).not.toMatch(/[▂-█]/)
    expect(sparkline([0, null, 175, 340, 400], 350)).toBe('▁ ▄▇█')
    // Against a watt where there is neither a limit nor a reading above it.
    expect(sparkline([0, 0.5, 0.99], 0)).toBe('▁▅█')
  })

  it('holds clocks and a limit while a command runs, and hands on its exit code', async () => {
    const script = path.join(folder, 'see')
    const query = 'nvidia-smi -i 0 --query-gpu=clocks.sm,clocks.mem,power.limit --format=csv,noheader,nounits'
    const { code, stderr } = await run(
      'lock',
      '--gpu',
      '0',
      '--mem',
      '9501',
      '--sm',
      '1005',
      '--limit',
      '250',
      ...at(),
      '--',
      'sh',
      '-c',
      `sleep 0.2; ${query} > ${script}; exit 7`,
    )
    expect(code).toBe(7)
    expect(stderr).toMatch(/GPU 0: holding memory clock 9501 MHz, SM clock 1005 MHz, power limit 250 W through NVML/)
    expect(readFileSync(script, 'utf8').trim()).toBe('1005, 9501, 250.00')
    expect(device().powerLimitW()).toBe(350)
    await eventually(() => device().memClockMhz() === 405, 'the clock is free')
  })

  it('holds a limit for some seconds, or until interrupted', async () => {
    expect(
      (await run('lock', '--limit', '250', '--gpu', '0', '--seconds', '0.05', '--json', ...at())).stdout,
    ).toContain('"powerLimitW": 250')
    const held = run('lock', '--gpu', '0', '--limit', '260', ...at())
    await eventually(() => device().powerLimitW() === 260, 'the limit is set')
    expect((await run('leases', ...at())).stdout).toMatch(
      /GPU-\S+: held by process \d+ .*\n {2}to put back: power limit 350 W/,
    )
    expect(await run('lock', '--gpu', '0', '--limit', '270', ...at())).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is leased by this very process/),
    })
    expect(await run('reset', '--gpu', '0', ...at())).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/leased/),
    })
    ending.abort()
    expect((await held).code).toBe(0)
    expect(device().powerLimitW()).toBe(350)
    expect((await run('leases', ...at())).stdout).toMatch(/^no board is changed/)
  })

  it('puts right what was left behind, and says so', async () => {
    const board = await openGpu(0, { libraryPath: host.libraryPath, leaseFolder: host.leaseFolder })
    const lease = await board.acquire()
    await lease.setPowerLimit(250)
    const journals = new LeaseFolder(host.leaseFolder)
    const record = { ...journals.read(device().uuid)!, leaseId: randomUUID(), setLimitsW: [250, 222] }
    await lease.release()
    const leave = () => {
      device().check('nvmlDeviceSetPowerManagementLimit', 222_000)
      journals.write(record)
    }
    leave()
    expect((await run('leases', ...at())).stdout).toMatch(/left behind by process/)
    expect(await run('restore', ...at())).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^restored GPU-\S+: power limit 350 W/),
    })
    expect(await run('restore', ...at())).toMatchObject({ code: 0, stdout: 'nothing was left behind\n' })
    leave()
    expect((await run('status', '--gpu', '1', ...at())).stderr).toMatch(/pctodl gpu: restored GPU-/)
    expect(device().powerLimitW()).toBe(350)
    leave()
    const held = await run('lock', '--gpu', '1', '--limit', '300', '--seconds', '0.01', ...at())
    expect(held.stderr).toMatch(/^pctodl gpu: restored GPU-.*\nGPU 1: holding power limit 300 W/)
    expect(device().powerLimitW()).toBe(350)
  })

  it('resets boards to the defaults, whatever a journal says', async () => {
    const file = new LeaseFolder(host.leaseFolder).journalFile(device().uuid)
    writeFileSync(file, 'no journal')
    device().check('nvmlDeviceSetComputeMode', 3)
    device().check('nvmlDeviceSetGpuLockedClocks', 1005, 1005)
    expect(await run('restore', ...at())).toMatchObject({ code: 1, stdout: expect.stringMatching(/no lease journal/) })
    expect((await run('reset', ...at())).stdout).toMatch(
      /GPU 0: SM clock reset, memory clock reset, power limit 350 W, compute mode default/,
    )
    expect(device().computeMode()).toBe('default')
    expect(existsSync(file)).toBe(false)
  })

  it('serves metrics on the loopback, under the names of the DCGM exporter', async () => {
    // The address is told before anything else, so an interrupted call tells a free port.
    const short = run('serve', '--port', '0', ...at())
    ending.abort()
    const { code, stdout } = await short
    const url = /http:\/\/\S+/.exec(stdout)?.[0] ?? ''
    expect([code, url]).toEqual([0, expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/)])

    ending = new AbortController()
    const { port } = new URL(url)
    const serving = run('serve', '--port', port, ...at())
    const get = (where: string, init?: RequestInit) => fetch(new URL(where, url), init)
    await eventually(
      () =>
        get('/metrics').then(
          () => true,
          () => false,
        ),
      'it listens',
    )
    const text = await (await get('/metrics')).text()
    expect(text).toMatch(/# HELP DCGM_FI_DEV_POWER_USAGE Power draw \(in W\)\.\n# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n/)
    expect(text).toMatch(
      /DCGM_FI_DEV_SM_CLOCK\{gpu="1",UUID="GPU-[\w-]+",modelName="NVIDIA GeForce RTX 3080 Ti",Hostname=".+"\} \d+\n/,
    )
    expect(text).toMatch(/# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n/)
    for (const line of text.trim().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) |\w+\{.*\} -?\d+(\.\d+)?(e[+-]\d+)?$)/)
    expect((await get('/')).status).toBe(404)
    expect((await get('/metrics', { method: 'POST' })).status).toBe(405)
    expect(await run('serve', '--port', port, ...at())).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot listen/),
    })
    ending.abort()
    expect((await serving).code).toBe(0)
  })

  it.each([
    [[], 2, /no subcommand/],
    [['nonsense'], 2, /unknown command/],
    [['lock', '--gpu', '0'], 2, /nothing to hold/],
    [['lock', '--sm', 'fast'], 2, /not a clock/],
    [['lock', '--sm', '1005'], 2, /there are 2 boards; name one/],
    [['lock', '--gpu', '0', '--sm', '1004'], 1, /smClock.minMhz: got 1004/],
    [['lock', '--limit', 'much', '--gpu', '0'], 2, /not a positive number of watts/],
    [['lock', '--limit', '9000', '--gpu', '0'], 1, /100 to 400 W/],
    [['lock', '--limit', '250', '--gpu', '9'], 1, /NVML_ERROR_INVALID_ARGUMENT/],
    [['watch', '--period', '5'], 2, /20 to 3600000/],
    [['lock', '--gpu', '0', '--limit', '250', '--', 'no-such-command'], 2, /command not found/],
    [['lock', '--gpu', '0', '--sm', '1005', '--platform-file', '/nowhere.json'], 1, /nowhere.json/],
  ] as const)('%j ends with %d and says why', async (argv, code, message) => {
    const split = argv.indexOf('--' as never)
    const words: string[] =
      argv.length === 0 || argv[0] === 'nonsense'
        ? [...argv]
        : split < 0
          ? [...argv, ...at()]
          : [...argv.slice(0, split), ...at(), ...argv.slice(split)]
    expect(await run(...words)).toMatchObject({ code, stderr: expect.stringMatching(message) })
    expect(device().powerLimitW()).toBe(350)
  })

  it('says what is missing without NVML, and shows help with an example', async () => {
    expect(await run('list', '--library', '/nowhere.so')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/install one/),
    })
    const help = await run('--help')
    expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/Example:\n {2}pctodl gpu lock/) })
  })
})
