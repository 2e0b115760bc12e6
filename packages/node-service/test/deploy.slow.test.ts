import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { childrenOf } from '@pctodl/nvml-control'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { numberIn } from '../../../test/long-tests.js'
import { Policy } from '../src/policy.js'
import {
  buildPrograms,
  eventually,
  everything,
  missingCompiler,
  type Node,
  ServiceClient,
  startNode,
} from './node-host.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string) => readFileSync(path.join(packageFolder, file), 'utf8')
const hasActivation = spawnSync('systemd-socket-activate', ['--version']).status === 0
const loads = "import ctypes; ctypes.CDLL('libsystemd.so.0')"
const hasNotify = spawnSync('python3', ['-c', loads]).status === 0
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

describe('what is installed on a node', () => {
  it('has an example of a policy that is one, and says what the README says', () => {
    expect(Policy.parse(read('policy.example.json')).rules).toHaveLength(1)
    const shown = JSON.parse(/```json\n([\s\S]*?)```/.exec(read('README.md'))![1]!)
    // Names are those of a node; here it is the rest that counts.
    const rules = shown.rules.map((rule: object) => ({ ...rule, users: [1001], groups: [] }))
    expect(Policy.parse(JSON.stringify({ ...shown, rules })).rules).toHaveLength(2)
    expect(/```ts\n([\s\S]*?)```/.exec(read('README.md'))?.[1]).toBe(read('examples/serve-and-ask.ts'))
  })

  it.skipIf(!hasSystemd)(`has units that systemd takes${hasSystemd ? '' : ' (needs systemd-analyze)'}`, () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-units-'))
    try {
      // The program itself is not installed here.
      const service = read('systemd/pctodld.service').replace('/usr/bin/pctodld', process.execPath)
      writeFileSync(path.join(folder, 'pctodld.service'), service)
      writeFileSync(path.join(folder, 'pctodld.socket'), read('systemd/pctodld.socket'))
      const units = ['pctodld.service', 'pctodld.socket'].map((name) => path.join(folder, name))
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' })
      expect([status, stderr]).toEqual([0, ''])
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  })

  it('has an epilog that ends the leases of a job, and fails where it cannot tell its boards', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-epilog-'))
    const run = (smi: string) => {
      writeFileSync(path.join(folder, 'nvidia-smi'), `#!/bin/sh\n${smi}\n`, { mode: 0o755 })
      writeFileSync(path.join(folder, 'pctodld'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 })
      const env = {
        PATH: `${folder}:${process.env['PATH']}`,
        SLURM_JOB_GPUS: '1',
        SLURM_JOB_UID: '1000',
        SLURM_JOB_ID: '7',
      }
      const { status, stdout } = spawnSync('sh', [path.join(packageFolder, 'slurm', 'epilog.sh')], {
        env,
        encoding: 'utf8',
      })
      return [status, stdout]
    }
    const ofJob = 'end-leases --workload slurm:7\n'
    expect(run('exit 9')).toEqual([9, ofJob])
    expect(run("printf '0, GPU-a\\n1, GPU-b\\n'")).toEqual([
      0,
      `${ofJob}end-leases --uid 1000 --boards GPU-b --workload slurm:7\n`,
    ])
    rmSync(folder, { recursive: true })
  })

  it.each(['prolog', 'epilog'])('has a %s for Slurm that a shell takes', (name) => {
    expect(() => execFileSync('sh', ['-n', path.join(packageFolder, 'slurm', `${name}.sh`)])).not.toThrow()
  })
})

describe.skipIf(missingCompiler)(`pctodld${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let node: Node
  let programs: Awaited<ReturnType<typeof buildPrograms>>

  beforeAll(async () => {
    ;[node, programs] = await Promise.all([startNode({ gpus: 4, privilege: 'everyone' }), buildPrograms()])
    node.allow(everything([process.geteuid?.() ?? 0]))
  })
  afterAll(async () => {
    programs?.remove()
    await node?.stop()
  })

  const places = () => {
    const { policyFile, stateFolder, mpsFolder, libraryPath } = node.options
    return [
      '--policy',
      policyFile,
      '--state',
      stateFolder,
      '--mps',
      mpsFolder,
      '--library',
      libraryPath!,
      '--http',
      'none',
    ]
  }
  const started = (child: ChildProcess) =>
    new Promise<string>((resolve, reject) => {
      child.stdout!.once('data', (text) => resolve(String(text)))
      child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)))
    })
  const end = (child: ChildProcess) => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    return ended
  }
  const ask = (...words: string[]) =>
    spawnSync(process.execPath, [programs.file('pctodld'), ...words], { encoding: 'utf8' })

  it.skipIf(!hasActivation)(
    `takes the socket that systemd has opened${hasActivation ? '' : ' (needs systemd)'}`,
    async () => {
      const socket = path.join(node.folder, 'activated.sock')
      const words = [process.execPath, programs.file('pctodld'), 'serve', ...places()]
      const child = spawn('systemd-socket-activate', ['-E', 'LD_LIBRARY_PATH', '-l', socket, '--', ...words], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      // The file is there before somebody listens; that it says.
      let said = ''
      child.stderr!.on('data', (text) => (said += text))
      await eventually(() => said.includes('Listening on'), 'systemd listens')
      // The first who asks is whom it starts the service for.
      const client = await ServiceClient.open({ socket })
      expect(await client.request({ type: 'status' })).toMatchObject({ ready: true, boards: { length: 4 } })
      // Its watchdog is a child that stays.
      const board = node.devices[0]!.uuid
      await client.request({ type: 'acquire', board })
      await client.request({ type: 'change', board, change: { kind: 'power-limit', powerLimitW: 250 } })
      const children = childrenOf(child.pid!)
      expect(children).not.toEqual([])
      const open = (pid: number) => readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
      const handedOver = readlinkSync(`/proc/${child.pid}/fd/3`)
      expect(handedOver).toMatch(/^socket:/)
      expect(children.flatMap(({ pid }) => open(pid))).not.toContain(handedOver)
      client.close()
      expect(await end(child)).toBe(0)
    },
  )

  it.skipIf(!hasNotify)(
    `tells systemd that it is ready, and that it lives${hasNotify ? '' : ' (needs python3, libsystemd)'}`,
    async () => {
      const socket = path.join(node.folder, 'notify.sock')
      const listen = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
for _ in range(2): print(s.recv(99).decode(), flush=True)`
      const systemd = spawn('python3', ['-c', listen, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
      let said = ''
      systemd.stdout.on('data', (text) => (said += text))
      await eventually(() => said.includes('bound'), 'somebody listens')
      const words = [programs.file('pctodld'), 'serve', '--socket', node.options.socket, ...places()]
      const child = spawn(process.execPath, words, {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, NOTIFY_SOCKET: socket },
      })
      await eventually(
        () => said === 'bound\nREADY=1\nWATCHDOG=1\n',
        () => `it says so: ${said}`,
      )
      expect(await end(child)).toBe(0)
      systemd.kill()
    },
  )

  it('costs next to nothing while nobody asks, and tells what it is asked on its command line', async () => {
    const { socket, policyFile } = node.options
    const words = [programs.file('pctodld'), 'serve', '--socket', socket, ...places()]
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    expect(await started(child)).toMatch(/^pctodld: 4 boards at /)
    expect(ask('ready', '--socket', socket)).toMatchObject({ status: 0, stderr: '' })
    expect(ask('status', '--socket', socket).stdout).toMatch(/^GPU 0: NVIDIA .*: ok, free\n[\s\S]*ready\n$/)
    expect(ask('check-policy', policyFile).stdout).toMatch(/1 rules/)
    expect(ask('end-leases', '--socket', socket)).toMatchObject({ status: 2 })
    expect(ask('end-leases', '--uid', '0', '--socket', socket)).toMatchObject({
      status: 0,
      stdout: 'no lease to end\n',
    })

    const ticks = () => {
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      return Number(fields[11]) + Number(fields[12])
    }
    const [before, seconds] = [ticks(), numberIn('PCTODL_IDLE_SECONDS', 5)]
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds))
    // A tick is a hundredth of a second.
    const percent = (ticks() - before) / seconds
    const rss = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024
    process.stderr.write(`idle for ${seconds} s: ${percent.toFixed(2)} % of a core, ${rss.toFixed(0)} MiB\n`)
    expect(percent).toBeLessThan(2)
    expect(rss).toBeLessThan(150)
    expect(await end(child)).toBe(0)
  })
})
