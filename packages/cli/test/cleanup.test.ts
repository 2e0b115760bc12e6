import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { isRunning, processIdentity } from '@pctodl/nvml-control'
import { torchWorkerFile } from '@pctodl/tenants'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { run } from './run-pctodl.js'

const built = fileURLToPath(new URL('../bin/pctodl.js', import.meta.url))
const script = fileURLToPath(new URL('./fixtures/crash-and-clean-up.sh', import.meta.url))

const hasCompiler = (() => {
  try {
    execFileSync(process.env['CC'] || 'cc', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-cleanup-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** A place that nobody else uses; what lies elsewhere on this machine is none of a test's business. */
const here = () => ['--mps-dir', path.join(folder, 'mps'), '--lease-dir', path.join(folder, 'leases')]

describe.skipIf(!hasCompiler)(`after a crash${hasCompiler ? '' : ' (skipped: no C compiler)'}`, () => {
  let results: string
  const json = (name: string) => JSON.parse(readFileSync(path.join(results, `${name}.json`), 'utf8'))
  const text = (name: string) => readFileSync(path.join(results, name), 'utf8')

  beforeAll(() => {
    results = path.join(folder, 'crash')
    mkdirSync(results)
    const words = ['sim', 'host', '--gpu', '3080Ti', '--', 'sh', script, process.execPath, built, results]
    // The board that the host plays is root's to change; `--allow-all` makes it anybody's.
    execFileSync(process.execPath, [built, ...words.slice(0, 4), '--allow-all', ...words.slice(4)], {
      stdio: 'ignore',
      timeout: 240_000,
    })
  })

  it('the built command ends the daemon and puts the board back', () => {
    expect(json('cleaned').outcomes).toEqual([
      expect.objectContaining({ kind: 'mps-daemon', outcome: 'removed', detail: 'ended (quit)' }),
      expect.objectContaining({ kind: 'board', outcome: 'removed', detail: 'put back' }),
    ])
    expect(json('cleaned').outcomes[1].what).toMatch(/ was left changed \(power-limit\) by process \d+, node$/)
    expect(text('limit-before')).toBe('250.00\n')
    expect(text('limit-after')).toBe('350.00\n')
    expect(text('mps-after')).toMatch(/^stopped/)
  })
})

describe('orphaned workers', () => {
  const require = createRequire(torchWorkerFile())
  const worker = path.join(
    path.dirname(require.resolve('@pctodl/tenants/package.json')),
    'dist/programs/onnx-worker.js',
  )

  /** Start workers from a process that then is killed outright, or lives on. @returns the pids of parent and worker */
  async function startWorker(file: string, { stopped }: { readonly stopped: boolean }) {
    const parent = spawn(
      process.execPath,
      [
        '-e',
        `const c = require('node:child_process').spawn(process.execPath, [${JSON.stringify(file)}, 'x'.repeat(99)]); console.log(c.pid); setInterval(() => {}, 1000)`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const pid = Number(await new Promise((resolve) => parent.stdout.once('data', resolve)))
    // Stopped it cannot notice that its pool has gone.
    if (stopped) process.kill(pid, 'SIGSTOP')
    return { parent, identity: processIdentity(pid)! }
  }

  it('are ended; workers of a living pool, and other programs, are not', async () => {
    const stranger = path.join(folder, 'my-worker.mjs')
    writeFileSync(stranger, 'setInterval(() => {}, 1000)\n')
    const orphan = await startWorker(worker, { stopped: true })
    const ofLivingPool = await startWorker(worker, { stopped: true })
    const other = await startWorker(stranger, { stopped: true })
    try {
      for (const { parent } of [orphan, other]) {
        const ended = new Promise((resolve) => parent.once('exit', resolve))
        parent.kill('SIGKILL')
        await ended
      }
      const dry = await run('cleanup', '--dry-run', ...here())
      expect(dry.code).toBe(0)
      expect(dry.stdout).toContain(`worker ${orphan.identity.pid} (${process.execPath} `)
      expect(dry.stdout).toMatch(/^worker \d+ \(.{80}\), whose pool is gone/m)
      expect(isRunning(orphan.identity)).toBe(true)
      const { code, stdout } = await run('cleanup', ...here())
      expect(code).toBe(0)
      expect(stdout).toMatch(new RegExp(`^worker ${orphan.identity.pid} .*: ended$`, 'm'))
      expect(isRunning(orphan.identity)).toBe(false)
      expect(isRunning(ofLivingPool.identity)).toBe(true)
      expect(isRunning(other.identity)).toBe(true)
    } finally {
      for (const { parent, identity } of [orphan, ofLivingPool, other]) {
        parent.kill('SIGKILL')
        if (isRunning(identity)) process.kill(identity.pid, 'SIGKILL')
      }
    }
  })
})

/** Only root refuses programs that others can change. */
const isUser = process.geteuid?.() !== 0

/** Root's own processes alone are of this user here: everybody else's are left alone, however much they look like a leftover. */
describe.skipIf(isUser)(`of somebody else${isUser ? ' (needs root, to be two users)' : ''}`, () => {
  it('workers are left alone', async () => {
    const elsewhere = mkdtempSync(path.join(tmpdir(), 'pctodl-other-'))
    chmodSync(elsewhere, 0o755)
    const file = path.join(elsewhere, 'dist', 'programs', 'onnx-worker.js')
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, 'setInterval(() => {}, 1000)\n')
    const script = `const { spawn } = require('node:child_process'); const start = (ids) => spawn(process.execPath, [${JSON.stringify(file)}], { stdio: 'ignore', cwd: '/', ...ids }).pid; console.log(start({ uid: 60001, gid: 60001 }), start({})); setInterval(() => {}, 1000)`
    const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    const pids = String(await new Promise((resolve) => parent.stdout.once('data', resolve)))
      .trim()
      .split(' ')
      .map(Number)
    const [theirs, ours] = pids.map((pid) => processIdentity(pid)!)
    try {
      for (const { pid } of [theirs!, ours!]) process.kill(pid, 'SIGSTOP')
      const ended = new Promise((resolve) => parent.once('exit', resolve))
      parent.kill('SIGKILL')
      await ended
      // Nothing is ended: whether one is found is what counts, and a mistake must not reach processes of this machine.
      const { stdout } = await run('cleanup', '--dry-run', ...here())
      expect(stdout).toContain(`worker ${ours!.pid} (`)
      expect(stdout).not.toContain(`worker ${theirs!.pid} (`)
    } finally {
      parent.kill('SIGKILL')
      for (const identity of [theirs!, ours!]) if (isRunning(identity)) process.kill(identity.pid, 'SIGKILL')
      rmSync(elsewhere, { recursive: true, force: true })
    }
  })
})

describe('pctodl cleanup', () => {
  it('removes the files of a dead daemon', async () => {
    const pipe = path.join(folder, 'mps', 'all', 'pipe')
    mkdirSync(pipe, { recursive: true })
    writeFileSync(path.join(pipe, 'nvidia-cuda-mps-control.pid'), '4000000\n')
    expect((await run('cleanup', '--dry-run', ...here())).stdout).toContain(
      `files of a dead MPS daemon at ${pipe}: found, nothing done`,
    )
    expect((await run('cleanup', ...here())).stdout).toContain(`files of a dead MPS daemon at ${pipe}: removed`)
    expect((await run('cleanup', ...here())).stdout).toBe('nothing was left behind\n')
  })

  it('leaves a daemon alone where there is no control program to ask', async () => {
    const pipe = path.join(folder, 'asked-nobody', 'all', 'pipe')
    mkdirSync(pipe, { recursive: true, mode: 0o700 })
    writeFileSync(path.join(pipe, 'control'), '')
    const before = process.env['PATH']
    process.env['PATH'] = folder
    try {
      const { code, stdout } = await run('cleanup', '--mps-dir', path.join(folder, 'asked-nobody'))
      expect(stdout).toMatch(/^left alone: MPS daemons in .*asked-nobody.*nvidia-cuda-mps-control is not on PATH/m)
      expect(code).toBe(0)
    } finally {
      process.env['PATH'] = before
    }
  })

  it.skipIf(isUser)(
    `fails where the control program is not to be trusted${isUser ? ' (needs root to try)' : ''}`,
    async () => {
      const place = path.join(folder, 'untrusted')
      const pipe = path.join(place, 'all', 'pipe')
      mkdirSync(pipe, { recursive: true, mode: 0o700 })
      writeFileSync(path.join(pipe, 'control'), '')
      writeFileSync(path.join(place, 'nvidia-cuda-mps-control'), '#!/bin/sh\n')
      chmodSync(path.join(place, 'nvidia-cuda-mps-control'), 0o777)
      const before = process.env['PATH']
      process.env['PATH'] = place
      try {
        const { code, stdout, stderr } = await run('cleanup', '--mps-dir', place)
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
        expect(stderr).toContain(place)
      } finally {
        process.env['PATH'] = before
      }
    },
  )

  it('reports what it could not put right, and fails', async () => {
    const leases = path.join(folder, 'unreadable')
    mkdirSync(leases, { mode: 0o700 })
    writeFileSync(path.join(leases, 'GPU-1.json'), '{ not a journal')
    const { code, stdout } = await run('cleanup', '--lease-dir', leases, '--mps-dir', path.join(folder, 'none'))
    expect(code).toBe(1)
    expect(stdout).toMatch(/^GPU-1 has a journal that cannot be read: NOT removed: .*GPU-1\.json is no lease journal/)
  })

  it('refuses what it does not know', async () => {
    expect(await run('cleanup', 'everything')).toMatchObject({ code: 2 })
  })
})
