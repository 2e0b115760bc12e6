import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { childrenOf } from '@pctodl/nvml-control'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, missingCompiler, type Node, startNode } from './node-host.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))
const has = (program: string) => spawnSync(program, ['--version']).status === 0

/** Its Debian needs nothing of Node: `mmdebstrap --variant=minbase --include=systemd,systemd-sysv,logrotate,procps bookworm root.tar`. */
const rootTar = process.env['PCTODL_DEBIAN_ROOT']
const missing =
  missingCompiler ??
  (rootTar === undefined
    ? 'needs PCTODL_DEBIAN_ROOT, the archive of a Debian root'
    : process.geteuid?.() !== 0 || !has('systemd-nspawn')
      ? 'needs root and systemd-nspawn'
      : undefined)

/** What says something of boards to the Zeus socket, says the answer, and stays. */
const asker = `
  const { request } = require('node:http')
  const [path, stay] = process.argv.slice(1)
  request({ socketPath: '/run/pctodl/zeusd.sock', method: 'POST', path }, (response) => console.log(response.statusCode)).end()
  if (stay) setInterval(() => {}, 1000)`
const limit = (watts: number) => `/gpu/set_power_limit?gpu_ids=0&power_limit_mw=${watts}000`

describe.skipIf(missing)(`a Debian with systemd${missing ? ` (${missing})` : ''}`, () => {
  let node: Node
  let folder: string
  let container: ChildProcess
  let init: number
  const holders: ChildProcess[] = []

  const enter = (words: readonly string[]) => ['--target', String(init), '--all', '--', ...words]
  const inside = (...words: string[]) => {
    const { status, stdout, stderr } = spawnSync('nsenter', enter(words), {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    })
    return { status, text: `${stdout}${stderr}` }
  }
  const apt = (...words: string[]) => inside('env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-y', ...words)
  const ask = (watts: number) => inside('/usr/lib/pctodld/node', '-e', asker, limit(watts)).text.trim()
  /** A process in the container that holds board 0 at a limit. */
  const hold = async (watts: number) => {
    const child = spawn('nsenter', enter(['/usr/lib/pctodld/node', '-e', asker, limit(watts), 'stay']), {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    holders.push(child)
    expect(await new Promise((resolve) => child.stdout.once('data', (data) => resolve(String(data).trim())))).toBe(
      '200',
    )
    expect(limitW()).toBe(watts)
  }
  const limitW = () => node.devices[0]!.powerLimitW()
  const isReady = () => inside('pctodld', 'ready').status === 0
  const serviceProcess = () => Number(inside('systemctl', 'show', '--value', '-p', 'MainPID', 'pctodld').text)

  beforeAll(async () => {
    node = await startNode({ gpus: 2, privilege: 'root' })
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl-debian-'))
    const root = path.join(folder, 'root')
    mkdirSync(root)
    execFileSync('tar', ['-xf', rootTar!, '-C', root])
    const script = path.join(packageFolder, 'packaging', 'build-deb.mjs')
    execFileSync(process.execPath, [script, '--out', root, '--compression', 'none'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [deb] = readdirSync(root).filter((name) => name.endsWith('.deb'))
    execFileSync('mv', [path.join(root, deb!), path.join(root, 'pctodld.deb')])
    // The simulated host in the place of the driver, and less patience than in earnest.
    const simulated = path.join(root, 'etc/systemd/system/pctodld.service.d/simulated.conf')
    mkdirSync(path.dirname(simulated), { recursive: true })
    const environment = 'LD_LIBRARY_PATH=/srv/host/lib PCTODL_GPU_SIM_FOLDER=/srv/host'
    writeFileSync(simulated, `[Service]\nEnvironment=${environment}\nReadWritePaths=/srv/host\nWatchdogSec=5\n`)
    const options = ['--boot', '--register=no', '--keep-unit', '--console=pipe', '--private-network']
    const bind = `--bind=${node.environment['PCTODL_GPU_SIM_FOLDER']}:/srv/host`
    container = spawn('systemd-nspawn', [`--directory=${root}`, bind, ...options], { stdio: 'ignore' })
    await eventually(() => childrenOf(container.pid!).length > 0, 'the container starts')
    init = childrenOf(container.pid!)[0]!.pid
    const state = () => inside('systemctl', 'is-system-running').text.trim()
    await eventually(
      () => ['running', 'degraded'].includes(state()),
      () => `systemd runs: ${state()}`,
    )
  })
  afterAll(async () => {
    for (const holder of holders) holder.kill('SIGKILL')
    if (container) {
      const ended = new Promise((resolve) => container.once('exit', resolve))
      inside('systemctl', 'poweroff')
      await ended
    }
    await node?.stop()
    if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  it.skipIf(!has('lintian'))('is as lintian wants it, but for the compression that a test does without', () => {
    const suppressed = ['control', 'data'].map((part) => `uses-no-compression-for-${part}-tarball`).join(',')
    const words = ['--allow-root', '--suppress-tags', suppressed, path.join(folder, 'root/pctodld.deb')]
    const { status, stdout } = spawnSync('lintian', words, { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, ''])
  })

  it('has a working service after one command, with systemd’s notice that it is ready', () => {
    expect(inside('sh', '-c', 'command -v node').status).not.toBe(0)
    const installed = apt('install', '/pctodld.deb')
    expect(installed, installed.text).toMatchObject({ status: 0 })
    expect(inside('systemctl', 'is-active', 'pctodld.socket', 'pctodld.service').text).toBe('active\nactive\n')
    expect(inside('systemctl', 'is-enabled', 'pctodld.socket', 'pctodld.service').text).toBe('enabled\nenabled\n')
    expect(inside('pctodld', 'status').text).toMatch(/^GPU 0: .*ok, free\nGPU 1: .*ok, free\nready\n$/)
    // The policy that comes with it allows nothing.
    expect(ask(250)).toBe('403')
  })

  it('changes boards within the operator’s policy, and puts them back', async () => {
    const rule = { users: ['root'], boards: ['*'], powerLimitW: { min: 200, max: 300 } }
    const policy = JSON.stringify({ format: 'pctodl-policy', version: 1, rules: [rule] })
    writeFileSync(path.join(folder, 'root/etc/pctodl/policy.json'), policy)
    expect([ask(390), limitW()]).toEqual(['403', 350])
    await hold(250)
    expect(ask(260)).toBe('409')
    // The holders, and not the service.
    inside('pkill', '--full', 'node:http')
    await eventually(() => limitW() === 350, 'the board is back')
  })

  it.each([
    ['SIGKILL', 'it is killed'],
    ['SIGSTOP', 'it hangs, and systemd’s watchdog ends it'],
  ] as const)('runs again after %s, with the boards put back: %s', async (signal, _) => {
    await hold(240)
    const before = serviceProcess()
    inside('kill', `-${signal}`, String(before))
    await eventually(() => limitW() === 350, 'the board is back')
    await eventually(() => serviceProcess() !== before && isReady(), 'the service is back')
  })

  it('keeps no change and loses no policy while it is upgraded', async () => {
    await hold(230)
    const upgraded = apt('install', '--reinstall', '/pctodld.deb')
    expect(upgraded, upgraded.text).toMatchObject({ status: 0 })
    expect([limitW(), isReady()]).toEqual([350, true])
    expect(readFileSync(path.join(folder, 'root/etc/pctodl/policy.json'), 'utf8')).toContain('"max":300')
  })

  it('leaves no change when it is removed, and nothing of itself when it is purged', async () => {
    await hold(220)
    expect(apt('remove', 'pctodld').status).toBe(0)
    expect(limitW()).toBe(350)
    expect(inside('systemctl', 'is-active', 'pctodld.service').text).toBe('inactive\n')
    expect(apt('purge', 'pctodld').status).toBe(0)
    const left = inside('find', '/etc', '/usr', '/var/lib', '-name', '*pctodl*', '-not', '-path', '*simulated*').text
    expect(left).not.toMatch(/policy|audit|usr/)
  })
})
