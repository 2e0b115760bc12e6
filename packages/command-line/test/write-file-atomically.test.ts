import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

  it.skipIf(!existsSync('/proc/self'))('ends where no folder can be made (no /proc on this system)', () => {
    // Under /proc, Node's own recursive mkdir would try for ever.
    expect(() => writeFileAtomically('/proc/nowhere/deeper/c.txt', '')).toThrow(/cannot write \/proc\/nowhere.*choose/)
  })
})
