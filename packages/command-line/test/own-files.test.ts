import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePrivateFolder, privateFolder, readOwnFile, trustedPath } from '../src/own-files.js'

let place: string
beforeEach(() => {
  place = realpathSync(mkdtempSync(path.join(tmpdir(), 'pctodl-private-')))
})
afterEach(() => rmSync(place, { recursive: true, force: true, maxRetries: 5 }))
const at = (...parts: string[]) => path.join(place, ...parts)
const modeOf = (folder: string) => statSync(folder).mode & 0o7777

describe('where a path leads', () => {
  it('is told without links, whether they are absolute, relative or go up', () => {
    mkdirSync(at('real', 'deep'), { recursive: true })
    symlinkSync('real', at('beside'))
    symlinkSync(at('real'), at('absolute'))
    symlinkSync('../real/./deep', at('real', 'up'))
    expect(trustedPath(at('beside', 'deep'))).toBe(at('real', 'deep'))
    expect(trustedPath(at('absolute', 'deep'))).toBe(at('real', 'deep'))
    expect(trustedPath(at('absolute', 'up'))).toBe(at('real', 'deep'))
    expect(trustedPath('/')).toBe('/')
  })

  it('may pass through forty links, and not through one that leads in a circle', () => {
    mkdirSync(at('end'))
    for (let i = 0; i < 41; i++) symlinkSync(i === 0 ? 'end' : `link${i - 1}`, at(`link${i}`))
    expect(trustedPath(at('link39'))).toBe(at('end'))
    expect(() => trustedPath(at('link40'))).toThrow(/leads in a circle/)
    symlinkSync('round', at('round'))
    expect(() => trustedPath(at('round'))).toThrow(/round leads in a circle/)
  })

  it('is not believed where others may write, unless what is there is theirs alone to touch', () => {
    mkdirSync(at('open', 'inner'), { recursive: true })
    chmodSync(at('open'), 0o777)
    expect(() => trustedPath(at('open', 'inner'))).toThrow(`${at('open')} can be written by others (mode 777)`)
    chmodSync(at('open'), 0o1777)
    expect(trustedPath(at('open', 'inner'))).toBe(at('open', 'inner'))
    writeFileSync(at('file'), '')
    expect(() => trustedPath(at('file'))).toThrow(/file is no folder/)
  })
})

describe('a folder of one user', () => {
  it('is made with its mode, whatever the umask, and those on the way so that one may pass', () => {
    const umask = (() => {
      try {
        return process.umask(0o077)
      } catch {
        // Of a thread it cannot be set.
        return undefined
      }
    })()
    try {
      expect(makePrivateFolder(at('a', 'b', 'c'), 0o711)).toBe(at('a', 'b', 'c'))
      expect([at('a'), at('a', 'b'), at('a', 'b', 'c')].map(modeOf)).toEqual([0o755, 0o755, 0o711])
      makePrivateFolder(at('closed'))
      expect(modeOf(at('closed'))).toBe(0o700)
    } finally {
      if (umask !== undefined) process.umask(umask)
    }
  })

  it('that is there is taken as it is where it is open to no more than it may be', () => {
    mkdirSync(at('there'))
    chmodSync(at('there'), 0o755)
    expect(() => makePrivateFolder(at('there'))).toThrow(
      `${at('there')} is open to others (mode 755); close it with \`chmod 700\``,
    )
    expect(makePrivateFolder(at('there'), 0o700, 0o755)).toBe(at('there'))
    expect(() => privateFolder(at('there'), 0o711)).toThrow(/open to others/)
    chmodSync(at('there'), 0o711)
    expect(privateFolder(at('there'), 0o711)).toBe(at('there'))
    expect(modeOf(at('there'))).toBe(0o711)
  })

  it('is not made where others could put another in its place, nor where a link leads nowhere', () => {
    mkdirSync(at('open'))
    chmodSync(at('open'), 0o777)
    expect(() => makePrivateFolder(at('open', 'mine'))).toThrow(/can be written by others/)
    expect(existsSync(at('open', 'mine'))).toBe(false)
    symlinkSync('nowhere', at('dangling'))
    expect(() => makePrivateFolder(at('dangling'))).toThrow(/ENOENT/)
    expect(existsSync(at('nowhere'))).toBe(false)
  })
})

describe('a file that this user wrote', () => {
  it('is read up to its most bytes, and is null where there is none', () => {
    writeFileSync(at('file'), 'text', { mode: 0o600 })
    expect(readOwnFile(at('file'), 4)).toBe('text')
    expect(readOwnFile(at('none'), 4)).toBeNull()
    expect(() => readOwnFile(at('file'), 3)).toThrow(/has 4 bytes, more than 3/)
  })

  it('is no link, no folder, and nothing that others can write', () => {
    writeFileSync(at('file'), 'text')
    symlinkSync('file', at('link'))
    expect(() => readOwnFile(at('link'), 9)).toThrow(/is a symbolic link/)
    expect(() => readOwnFile(place, 9)).toThrow(/is no file/)
    chmodSync(at('file'), 0o620)
    expect(() => readOwnFile(at('file'), 9)).toThrow(/can be written by others \(mode 620\)/)
  })
})
