import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isRunning, loadNvml, type ProcessIdentity, processIdentity } from '@pctodl/nvml-control'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MpsDaemon, MpsPlace, mpsPlaces } from '../src/index.js'
import { type MpsHost, missingCompiler, startMpsHost, type Worker } from './mps-host.js'

/** A user that is nobody's: numbers need no account. */
const OTHER = 60_001
const missing = missingCompiler ?? (process.geteuid?.() === 0 ? undefined : 'needs root, to become a second user')
const asOther = ['setpriv', `--reuid=${OTHER}`, `--regid=${OTHER}`, '--clear-groups', '--'] as const

describe.skipIf(missing)(`a second user of the machine and MPS${missing ? ` (${missing})` : ''}`, () => {
  let host: MpsHost
  let above: string
  let victim: ProcessIdentity
  let endVictim: () => void

  beforeAll(async () => {
    host = await startMpsHost({ gpus: 2 })
  })
  afterAll(async () => {
    await host?.stop()
  })
  beforeEach(() => {
    above = mkdtempSync(path.join(tmpdir(), 'pctodl-mps-two-users-'))
    chmodSync(above, 0o1777)
    // A process of ours that looks like a control daemon, and is none of this place.
    const child = spawn('sleep', ['60'], { argv0: 'nvidia-cuda-mps-control', stdio: 'ignore' })
    victim = processIdentity(child.pid!)!
    endVictim = () => void child.kill('SIGKILL')
  })
  afterEach(() => {
    endVictim()
    rmSync(above, { recursive: true, force: true, maxRetries: 5 })
  })

  /** Done really as the other user. */
  const plant = (command: string) => execFileSync(asOther[0], [...asOther.slice(1), 'sh', '-c', command])

  it('directs no signal with a pid file and a record in a folder that it has made first', async () => {
    const directory = path.join(above, 'mps')
    const record = JSON.stringify({
      format: 'pctodl-mps-daemon',
      version: 1,
      daemon: victim,
      executable: null,
      uid: 0,
      startedAt: '',
    })
    plant(
      `mkdir -p '${directory}/pipe' '${directory}/log'; echo ${victim.pid} > '${directory}/pipe/nvidia-cuda-mps-control.pid'; ` +
        `echo '${record}' > '${directory}/daemon.json'`,
    )
    const mps = new MpsDaemon({ directory })
    for (const attempt of [() => mps.stop({ graceMs: 0 }), () => mps.start(), () => mps.status()]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'MPS_FOLDER', message: /belongs to user 60001/ })
    }
    expect(isRunning(victim)).toBe(true)
    expect(existsSync(path.join(directory, 'daemon.json'))).toBe(true)
  })

  it('directs no signal with a pid file in a folder of ours', async () => {
    const directory = path.join(above, 'mps')
    const place = new MpsPlace({ directory })
    place.make(0)
    const file = path.join(place.pipeDirectory, 'nvidia-cuda-mps-control.pid')
    writeFileSync(file, `${victim.pid}\n`)
    // A daemon by its name, but not one that was started for this place.
    expect(place.daemon()).toBeNull()
    chownSync(file, OTHER, OTHER)
    expect(() => place.daemon()).toThrow(/belongs to user 60001/)
    await expect(new MpsDaemon({ directory }).stop({ graceMs: 0 })).rejects.toMatchObject({ code: 'MPS_FOLDER' })
    expect(isRunning(victim)).toBe(true)
  })

  it('answers no command with a pipe of its own', async () => {
    const directory = path.join(above, 'mps')
    const place = new MpsPlace({ directory })
    place.make(0)
    writeFileSync(path.join(place.pipeDirectory, 'control'), '')
    chownSync(path.join(place.pipeDirectory, 'control'), OTHER, OTHER)
    expect(() => place.hasPipe()).toThrow(/pipe belongs to user 60001/)
    await expect(new MpsDaemon({ directory }).status()).rejects.toMatchObject({ code: 'MPS_FOLDER' })
  })

  it('is not ended by a daemon that calls its processes servers', async () => {
    const other = spawn(asOther[0], [...asOther.slice(1), 'sleep', '60'], { stdio: 'ignore' })
    // Where only root can have put it: root runs no other.
    const program = path.join(mkdtempSync(path.join(above, 'programs-')), 'lying-control')
    const behind = path.join(host.environment['PATH']!.split(':')[0]!, 'nvidia-cuda-mps-control')
    writeFileSync(
      program,
      `#!/bin/sh\n[ $# -gt 0 ] && exec ${behind} "$@"\nread -r line\n` +
        `case "$line" in get_server_list) echo ${other.pid}; echo ${process.pid} ;; *) echo "$line" | exec ${behind} ;; esac\n`,
      { mode: 0o755 },
    )
    const honest = new MpsDaemon({ directory: path.join(above, 'mps') })
    await honest.start()
    await new MpsDaemon({ directory: path.join(above, 'mps'), program }).stop({ graceMs: 0 })
    expect(other.exitCode).toBeNull()
    expect(other.signalCode).toBeNull()
    other.kill('SIGKILL')
  })

  it('can reach a daemon that serves it, and put nothing there', async () => {
    // Root's folder of all places may be passed through; one user's may not.
    chmodSync(above, 0o711)
    const mps = new MpsDaemon({ folder: path.join(above, 'places'), board: 'GPU-0' })
    await mps.start({ uid: OTHER })
    try {
      const { pipeDirectory, logDirectory, directory } = mps.place
      for (const folder of [directory, pipeDirectory, logDirectory]) {
        expect(statSync(folder).uid).toBe(0)
        expect(statSync(folder).mode & 0o777).toBe(0o710)
        expect(() => plant(`touch '${folder}/planted' 2>&-`)).toThrow()
        expect(() => plant(`ls '${folder}' 2>&-`)).toThrow()
      }
      plant(`test -S '${pipeDirectory}/control'`)
      // And nobody else, although /proc/net/unix tells everybody where it listens.
      const third = ['--reuid=60002', '--regid=60002', '--clear-groups', '--', 'test', '-S', `${pipeDirectory}/control`]
      expect(() => execFileSync('setpriv', third)).toThrow()
      expect(mpsPlaces(path.join(above, 'places')).map(({ board }) => board)).toEqual(['GPU-0'])
    } finally {
      await mps.stop({ graceMs: 0 })
    }
  })

  describe('two boards', () => {
    const workers: Worker[] = []
    afterEach(async () => {
      for (const worker of workers) worker.end()
      await Promise.all(workers.splice(0).map(({ ended }) => ended))
    })

    it('have a daemon each, which ends no other, and clients on their own board', async () => {
      const devices = loadNvml({ libraryPath: host.libraryPath }).devices()
      const daemons = devices.map(
        (device) => new MpsDaemon({ folder: path.join(above, 'places'), board: device.uuid, device }),
      )
      try {
        for (const [i, mps] of daemons.entries()) await mps.start({ deviceUuids: [devices[i]!.uuid] })
        for (const mps of daemons) workers.push(host.worker(mps.clientEnvironment(50)))
        for (const [i, mps] of daemons.entries()) await mps.verifyClient(workers[i]!.pid)
        expect(devices.map((device) => device.computeProcesses().map(({ pid }) => pid))).toEqual(
          workers.map(({ pid }) => [pid]),
        )
        // One of ours that asks for another board by its daemon's leave: it is a client, and on the wrong board.
        const strange = new MpsDaemon({
          folder: path.join(above, 'places'),
          board: devices[0]!.uuid,
          device: devices[1]!,
        })
        await expect(strange.verifyClient(workers[0]!.pid, { timeoutMs: 100 })).rejects.toMatchObject({
          code: 'MPS_WRONG_BOARD',
        })
        await daemons[0]!.stop({ graceMs: 0 })
        expect((await daemons[1]!.status()).state).toBe('active')
      } finally {
        for (const mps of daemons) await mps.stop({ graceMs: 0 })
      }
    })
  })
})
