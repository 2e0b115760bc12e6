import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LeaseFolder, type LeaseRecord } from '../src/index.js'
import { defaultLeaseFolder, JournalError } from '../src/lease/lease-folder.js'

let place: string
let folder: LeaseFolder
const environment = { ...process.env }
beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), 'pctodl-lease-folder-'))
  folder = new LeaseFolder(path.join(place, 'leases'))
})
afterEach(() => {
  process.env = { ...environment }
  rmSync(place, { recursive: true, force: true, maxRetries: 5 })
})

const record = (uuid = 'GPU-1', leaseId = '8f14e45f-ceea-467f-9a2d-1c1f0a3b5c7d'): LeaseRecord => ({
  format: 'pctodl-lease',
  version: 1,
  leaseId,
  gpu: { uuid, index: 0, name: 'A100' },
  owner: { pid: 1, startTime: 0, bootId: 'b', uid: 0, program: 'node' },
  acquiredAt: '2026-01-01T00:00:00.000Z',
  found: { powerLimitW: 350, computeMode: null, persistence: null, smClockLock: null, memClockLock: null },
  touched: ['power-limit'],
})

describe('a folder of leases', () => {
  it('is the one that is named, else the environment’s, else the machine’s for root and one’s own for others', () => {
    delete process.env['PCTODL_LEASE_DIR']
    expect(new LeaseFolder().path).toBe(defaultLeaseFolder())
    process.env['PCTODL_LEASE_DIR'] = 'here'
    expect(new LeaseFolder().path).toBe(path.resolve('here'))
    expect(new LeaseFolder('/there').path).toBe('/there')
    process.env['PCTODL_LEASE_DIR'] = ''
    expect(new LeaseFolder().path).toBe(defaultLeaseFolder())
    if (process.geteuid?.() === 0) expect(defaultLeaseFolder()).toBe('/var/lib/pctodl/leases')
    else {
      process.env['XDG_STATE_HOME'] = '/state'
      expect(defaultLeaseFolder()).toBe('/state/pctodl/leases')
      delete process.env['XDG_STATE_HOME']
      expect(defaultLeaseFolder()).toBe(path.join(homedir(), '.local/state/pctodl/leases'))
    }
  })

  it('that is not there has nothing in it, and is not made by looking', () => {
    expect([folder.isVisible(), folder.journaled(), folder.read('GPU-1'), folder.holder('GPU-1')]).toEqual([
      true,
      [],
      null,
      null,
    ])
    folder.remove('GPU-1')
    folder.removeUnfinished('GPU-1')
    expect(existsSync(folder.path)).toBe(false)
  })

  it('is made for this user alone', () => {
    folder.write(record())
    expect(statSync(folder.path).mode & 0o777).toBe(0o700)
    expect(statSync(folder.journalFile('GPU-1')).mode & 0o777).toBe(0o600)
    expect(folder.isVisible()).toBe(true)
  })

  it('that others may look into, or that is none, tells nothing', () => {
    folder.write(record())
    chmodSync(folder.path, 0o755)
    expect(folder.isVisible()).toBe(false)
    for (const use of [() => folder.journaled(), () => folder.read('GPU-1'), () => folder.tryLock('GPU-1')]) {
      expect(use).toThrow(expect.objectContaining({ code: 'LEASE_FOLDER' }))
    }
    chmodSync(folder.path, 0o700)
    writeFileSync(path.join(place, 'file'), '')
    expect(new LeaseFolder(path.join(place, 'file')).isVisible()).toBe(false)
  })

  it('keeps a journal for each board, the last that was written, until it is removed', () => {
    const [first, second] = [record('GPU-1'), record('GPU-2')]
    folder.write(first)
    folder.write(second)
    folder.write({ ...first, touched: [] })
    writeFileSync(path.join(folder.path, 'notes.txt'), '')
    expect(folder.journaled().sort()).toEqual(['GPU-1', 'GPU-2'])
    expect([folder.read('GPU-1'), folder.read('GPU-2'), folder.read('GPU-3')]).toEqual([
      { ...first, touched: [] },
      second,
      null,
    ])
    folder.remove('GPU-1')
    folder.remove('GPU-1')
    expect(folder.journaled()).toEqual(['GPU-2'])
    expect(readdirSync(folder.path).sort()).toEqual(['GPU-2.json', 'notes.txt'])
  })

  it('believes no journal that is another board’s, or longer than one can be', () => {
    folder.write(record('GPU-2'))
    writeFileSync(folder.journalFile('GPU-1'), JSON.stringify(record('GPU-2')), { mode: 0o600 })
    expect(() => folder.read('GPU-1')).toThrow(
      /GPU-1\.json is no lease journal \(gpu\.uuid: is of another board, GPU-2\)/,
    )
    const long = JSON.stringify(record('GPU-2')).padEnd(64 * 1024)
    writeFileSync(folder.journalFile('GPU-2'), long)
    expect(folder.read('GPU-2')).toEqual(record('GPU-2'))
    writeFileSync(folder.journalFile('GPU-2'), `${long} `)
    expect(() => folder.read('GPU-2')).toThrow(JournalError)
  })

  it('forgets what was not finished of one board, and nothing else', () => {
    folder.write(record('GPU-1'))
    const names = ['GPU-1.json.a.unfinished', 'GPU-1.json.b.unfinished', 'GPU-11.json.a.unfinished', 'GPU-1.json.a']
    for (const name of names) writeFileSync(path.join(folder.path, name), '')
    folder.removeUnfinished('GPU-1')
    expect(readdirSync(folder.path).sort()).toEqual(['GPU-1.json', 'GPU-1.json.a', 'GPU-11.json.a.unfinished'])
  })

  it('leaves nothing unfinished where a journal cannot be written, and says what to do', () => {
    mkdirSync(folder.path, { mode: 0o700 })
    mkdirSync(path.join(folder.journalFile('GPU-1'), 'in the way'), { recursive: true })
    expect(() => folder.write(record())).toThrow(/nothing was changed on the board.*PCTODL_LEASE_DIR/)
    expect(readdirSync(folder.path)).toEqual(['GPU-1.json'])
  })

  it('has a lock for each board, of one holder whom the kernel names', () => {
    const lock = folder.tryLock('GPU-1')!
    expect([folder.tryLock('GPU-1'), folder.holder('GPU-1'), folder.holder('GPU-2')]).toEqual([null, process.pid, null])
    const other = folder.tryLock('GPU-2')!
    lock.release()
    lock.release()
    expect([folder.holder('GPU-1'), folder.holder('GPU-2')]).toEqual([null, process.pid])
    folder.tryLock('GPU-1')!.release()
    other.release()
  })
})
