import { execFile, execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LeaseFolder, loadNvml, type NvmlDevice, openGpu, putRight } from '../src/index.js'
import { type BuiltChildren, buildChildren } from './built-children.js'
import { eventually, missingCompiler, type RunningHost, startHost } from './simulated-host.js'

/** A user that is nobody's: numbers need no account. */
const OTHER = 60_001
const missing = missingCompiler ?? (process.geteuid?.() === 0 ? undefined : 'needs root, to become a second user')

/** What the other user does, really as that user. */
function asOther(command: string): void {
  const identity = [`--reuid=${OTHER}`, `--regid=${OTHER}`, '--clear-groups']
  execFileSync('setpriv', [...identity, '--', 'sh', '-c', command], { stdio: 'pipe' })
}

describe.skipIf(missing)(`a second user of the machine${missing ? ` (${missing})` : ''}`, () => {
  let host: RunningHost
  let children: BuiltChildren
  let device: NvmlDevice
  let place: string
  let leaseFolder: string

  beforeAll(async () => {
    ;[host, children] = await Promise.all([startHost(), buildChildren('test/fixtures/lease-child.ts')])
    device = loadNvml({ libraryPath: host.libraryPath }).device(0)
  })
  afterAll(async () => {
    children?.remove()
    await host?.stop()
  })
  beforeEach(() => {
    place = mkdtempSync(path.join(tmpdir(), 'pctodl-two-users-'))
    chmodSync(place, 0o755)
    leaseFolder = path.join(place, 'leases')
  })
  afterEach(() => {
    rmSync(place, { recursive: true, force: true, maxRetries: 5 })
    device.check('nvmlDeviceSetPowerManagementLimit', 350_000)
  })

  const open = () => openGpu(0, { libraryPath: host.libraryPath, leaseFolder })

  /** The folder as it was once recommended: a group may write, and nothing is sticky. */
  function shared(): void {
    mkdirSync(leaseFolder)
    chownSync(leaseFolder, 0, OTHER)
    chmodSync(leaseFolder, 0o2770)
  }

  it('leads no journal to a file of its choice', async () => {
    shared()
    const victim = path.join(place, 'victim')
    writeFileSync(victim, 'precious', { mode: 0o600 })
    const refused = await (async () => {
      const lease = await (await open()).acquire()
      try {
        await lease.setPowerLimit(300)
        // The name of a journal that is not whole yet cannot be known.
        asOther(`ln -sf '${victim}' '${new LeaseFolder(leaseFolder).journalFile(device.uuid)}'`)
        await lease.setComputeMode('prohibited')
        return undefined
      } finally {
        await lease.release().catch(() => {})
      }
    })().catch((error: unknown) => error)
    expect(readFileSync(victim, 'utf8')).toBe('precious')
    expect(refused).toMatchObject({ code: 'LEASE_FOLDER', message: /open to others/ })
  })

  it('takes no lock away, so that a board never has two owners', async () => {
    shared()
    const attempt = async () => {
      const lease = await (await open()).acquire()
      try {
        asOther(`rm -f '${path.join(leaseFolder, `${device.uuid}.lock`)}'`)
        const second = await (await open()).acquire()
        await second.release()
        return 'two owners'
      } finally {
        await lease.release()
      }
    }
    expect(await attempt().catch((error: { code: string }) => error.code)).toBe('LEASE_FOLDER')
  })

  it('has no journal of its own restored', async () => {
    mkdirSync(leaseFolder, { mode: 0o700 })
    const lease = await (await open()).acquire()
    await lease.setPowerLimit(300)
    const journal = new LeaseFolder(leaseFolder).journalFile(device.uuid)
    const replayed = readFileSync(journal, 'utf8').replace(/"powerLimitW": 350/, '"powerLimitW": 120')
    expect(replayed).toContain('120')
    await lease.release()
    // An old journal, kept and put back by somebody else: as a link, and as a file of theirs.
    const elsewhere = path.join(place, 'elsewhere')
    writeFileSync(elsewhere, replayed)
    symlinkSync(elsewhere, journal)
    expect(() => new LeaseFolder(leaseFolder).read(device.uuid)).toThrow(/symbolic link/)
    expect(await putRight(loadNvml({ libraryPath: host.libraryPath }), { leaseFolder })).toMatchObject([
      { outcome: 'failed' },
    ])
    rmSync(journal)
    writeFileSync(journal, replayed)
    chownSync(journal, OTHER, OTHER)
    expect(await putRight(loadNvml({ libraryPath: host.libraryPath }), { leaseFolder })).toMatchObject([
      { outcome: 'failed' },
    ])
    expect(device.powerLimitW()).toBe(350)
  })

  it.each([
    ['whose parent everybody can write', () => chmodSync(place, 0o777)],
    ['whose parent is the other one’s', () => chownSync(place, OTHER, OTHER)],
    ['that is a link of the other one’s', () => asOther(`ln -s /var '${place}/sticky/leases'`), 'sticky/leases'],
    ['that the other one has made', () => asOther(`mkdir -m 700 '${place}/sticky/leases'`), 'sticky/leases'],
    ['through which a link leads out of bounds', () => symlinkSync(`${place}/open`, `${place}/via`), 'via/leases'],
  ])('is given no say by a lease folder %s', async (_, prepare, name = 'leases') => {
    for (const [folder, mode] of [
      ['sticky', 0o1777],
      ['open', 0o777],
    ] as const) {
      mkdirSync(path.join(place, folder))
      chmodSync(path.join(place, folder), mode)
    }
    leaseFolder = path.join(place, name)
    prepare()
    const gpu = await open()
    await expect(gpu.acquire()).rejects.toMatchObject({ code: 'LEASE_FOLDER' })
    expect(device.powerLimitW()).toBe(350)
  })

  it('finds no argument of a program in what is written down', async () => {
    const child = execFile(process.execPath, [
      children.file('lease-child'),
      host.libraryPath,
      leaseFolder,
      '0',
      '60000',
      '--api-key=hidden',
    ])
    const ended = new Promise((resolve) => child.once('exit', resolve))
    try {
      const folder = new LeaseFolder(leaseFolder)
      await eventually(() => folder.journaled().length > 0, 'the owner has changed the board')
      expect(readFileSync(folder.journalFile(device.uuid), 'utf8')).not.toContain('api-key')
      expect(folder.read(device.uuid)!.owner.program).toBe(path.basename(process.execPath))
      await expect((await open()).acquire()).rejects.toThrow(/leased by process \d+ \(node\)/)
    } finally {
      child.kill('SIGTERM')
      await ended
    }
  })

  it('reads no journal: what another user runs is that user’s own business', async () => {
    const lease = await (await open()).acquire()
    await lease.setPowerLimit(300)
    const folder = new LeaseFolder(leaseFolder)
    expect(statSync(leaseFolder).mode & 0o777).toBe(0o700)
    expect(statSync(folder.journalFile(device.uuid)).mode & 0o777).toBe(0o600)
    expect(() => asOther(`cat '${folder.journalFile(device.uuid)}'`)).toThrow()
    await lease.release()
    expect(existsSync(folder.journalFile(device.uuid))).toBe(false)
  })
})
