import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { writeFileAtomically } from '../src/index.js'

const folder = mkdtempSync(path.join(tmpdir(), 'write-file-'))

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

describe('writeFileAtomically', () => {
  it('makes the folders above a file, and replaces the file whole', () => {
    const file = path.join(folder, 'a/b/c.txt')
    writeFileAtomically(file, 'first, and longer')
    writeFileAtomically(file, 'second')
    expect(readFileSync(file, 'utf8')).toBe('second')
    expect(readdirSync(path.dirname(file))).toEqual(['c.txt'])
  })

  it('says where a file stands in place of a folder', () => {
    const taken = path.join(folder, 'taken')
    writeFileSync(taken, 'a file')
    expect(() => writeFileAtomically(path.join(taken, 'deeper/c.txt'), '')).toThrow(
      expect.objectContaining({ code: 'CANNOT_WRITE' }),
    )
    expect(readFileSync(taken, 'utf8')).toBe('a file')
  })

  it('refuses a pipe and leaves it in place', () => {
    const pipe = path.join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    expect(() => writeFileAtomically(pipe, '')).toThrow(/cannot write .*it is no file/)
    expect(lstatSync(pipe).isFIFO()).toBe(true)
  })

  it.skipIf(process.getuid?.() !== 0)('writes to a device and leaves it in place (needs root to make a device)', () => {
    const device = path.join(folder, 'null')
    execFileSync('mknod', [device, 'c', '1', '3'])
    writeFileAtomically(device, 'nothing keeps this')
    expect(lstatSync(device).isCharacterDevice()).toBe(true)
  })

  it.skipIf(process.getuid?.() !== 0)(
    'keeps a link in /dev that is named through another folder (needs root to make a device)',
    () => {
      const link = `/dev/${path.basename(folder)}`
      const dev = path.join(folder, 'dev')
      symlinkSync('/dev', dev)
      symlinkSync(path.join(folder, 'target'), link)
      try {
        expect(() => writeFileAtomically(path.join(dev, path.basename(link)), '')).toThrow(/it is no file/)
        expect(lstatSync(link).isSymbolicLink()).toBe(true)
      } finally {
        rmSync(link)
        // Not left to the removal of the folder.
        rmSync(dev)
      }
    },
  )

  it.skipIf(!existsSync('/proc/self'))('ends where no folder can be made (no /proc on this system)', () => {
    // Under /proc, Node's own recursive mkdir would try for ever.
    expect(() => writeFileAtomically('/proc/nowhere/deeper/c.txt', '')).toThrow(/cannot write \/proc\/nowhere.*choose/)
  })
})
