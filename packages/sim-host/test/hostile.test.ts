import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AttachReply } from '../src/control-protocol.js'
import { controlSocket } from '../src/host-folder-layout.js'
import { MessageClient } from '../src/message-socket.js'
import { nativeLibrary } from '../src/native-library.js'
import { serveControlPipe } from '../src/programs/mps-control-daemon.js'
import { SimulatedHost } from '../src/simulated-host.js'
import { cacheFolder, missingCompiler } from './built-host.js'

const OTHER = 60_001
const sourceFolder = fileURLToPath(new URL('../native', import.meta.url))
const missing = missingCompiler ?? (process.geteuid?.() === 0 ? undefined : 'needs root, to be two users')

describe.skipIf(missing)(`a simulated host among people who mean it ill${missing ? ` (${missing})` : ''}`, () => {
  let host: SimulatedHost
  let folder: string

  beforeAll(async () => {
    // No program of it is started here.
    host = await SimulatedHost.start({ board: '3080Ti', cacheFolder, programsFolder: tmpdir() })
    folder = mkdtempSync(join(tmpdir(), 'pctodl-hostile-'))
  })
  afterAll(() => {
    host?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it.each([
    ['no JSON', 'nonsense\n'],
    ['nothing', 'null\n'],
    ['a board that is none', '{"kind":"set","gpuIndex":"__proto__","operation":1,"first":1,"second":1,"uid":0}\n'],
    ['numbers that are none', '{"kind":"set","gpuIndex":0,"operation":1,"first":{},"second":[],"uid":0}\n'],
    ['a line without end', 'x'.repeat(3_000_000)],
    [
      'a batch that is none',
      '{"kind":"attach","pid":1,"uid":0,"name":"x","gpu":"0","pipeDirectory":"","tenant":{"model":"resnet50","mpsPercent":100,"batchSize":1}}\n{"kind":"batch-size","batchSize":-1}\n',
    ],
  ])('lives through %s', async (_, text) => {
    const socket = connect(controlSocket(host.folder))
    const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    const answered = new Promise<void>((resolve) => socket.on('data', () => resolve()))
    socket.on('error', () => {})
    socket.write(text)
    // Either of the two: what is no request ends the connection.
    await Promise.race([gone, answered])
    socket.destroy()
    await gone
    const client = await MessageClient.open(controlSocket(host.folder))
    const reply = await client.request<AttachReply>({
      kind: 'attach',
      pid: process.pid,
      uid: 0,
      name: 'test',
      gpu: '0',
      pipeDirectory: '',
      tenant: { model: 'resnet50', mpsPercent: 100, batchSize: 1 },
    })
    expect(reply.cudaError).toBe(0)
    client.close()
  })

  it('lets another user claim to be root, and change nothing', async () => {
    const set = JSON.stringify({ kind: 'set', gpuIndex: 0, operation: 1, first: 200_000, second: 0, uid: 0 })
    const script = `
      const { connect } = require('node:net')
      for (const name of ['control.sock', 'set.sock']) {
        const socket = connect(${JSON.stringify(host.folder)} + '/' + name, () => socket.write(${JSON.stringify(`${set}
`)}))
        socket.on('error', ({ code }) => console.log(name, code))
        socket.on('data', (text) => console.log(name, Object.keys(JSON.parse(text)).join()))
      }`
    const said = await new Promise<string>((resolve, reject) => {
      const options = { uid: OTHER, gid: OTHER, cwd: '/' }
      execFile(process.execPath, ['-e', script], options, (error, stdout) => (error ? reject(error) : resolve(stdout)))
    })
    expect(said.trim().split('\n').sort()).toEqual(['control.sock error', 'set.sock EACCES'])
    expect((await host.gpus[0]!.info()).powerLimitW).toBe(350)
  })

  it('executes no library from a cache that others can write', () => {
    const cache = join(folder, 'cache')
    // As if it had been compiled there.
    const compiled = nativeLibrary({ sourceFolder, cacheFolder })
    const library = join(cache, basename(dirname(compiled)), basename(compiled))
    mkdirSync(dirname(library), { recursive: true })
    copyFileSync(compiled, library)
    chownSync(library, OTHER, OTHER)
    expect(() => nativeLibrary({ sourceFolder, cacheFolder: cache })).toThrow(/belongs to user 60001/)
    chownSync(library, 0, 0)
    chmodSync(cache, 0o777)
    expect(() => nativeLibrary({ sourceFolder, cacheFolder: cache })).toThrow(/can be written by others/)
    chmodSync(cache, 0o755)
    expect(nativeLibrary({ sourceFolder, cacheFolder: cache })).toBe(library)
  })

  it('writes no pid file through what another user has planted', async () => {
    const pipes = join(folder, 'nvidia-mps')
    const victim = join(folder, 'victim')
    writeFileSync(victim, 'as it was')
    mkdirSync(pipes)
    symlinkSync(victim, join(pipes, 'nvidia-cuda-mps-control.pid'))
    chownSync(pipes, OTHER, OTHER)
    const before = { ...process.env }
    Object.assign(process.env, host.environment, { CUDA_MPS_PIPE_DIRECTORY: pipes })
    try {
      await expect(serveControlPipe(() => {})).rejects.toThrow(/belongs to user 60001/)
    } finally {
      for (const name of Object.keys(host.environment)) if (!(name in before)) delete process.env[name]
      Object.assign(process.env, before)
    }
    expect(readFileSync(victim, 'utf8')).toBe('as it was')
  })
})
