import { execFileSync } from 'node:child_process'
import {
  chownSync,
  closeSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openToWrite, writeFileAtomically } from '../src/index.js'

/** A folder in which somebody else could have planted what he likes, and a file that he would like to see written. */
describe('what others have planted in a shared folder', () => {
  let folder: string
  let precious: string
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'planted-'))
    precious = path.join(folder, 'precious')
    writeFileSync(precious, 'precious')
  })
  afterEach(() => {
    expect(readFileSync(precious, 'utf8')).toBe('precious')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  const file = () => path.join(folder, 'results.csv')
  const write = (existing: 'refuse' | 'append' | 'empty') => {
    const fd = openToWrite(file(), { existing })
    writeSync(fd, 'line\n')
    closeSync(fd)
  }

  it.each(['refuse', 'append', 'empty'] as const)('is never followed or filled (%s)', (existing) => {
    symlinkSync(precious, file())
    expect(() => write(existing)).toThrow(/symbolic link|EEXIST/)
    rmSync(file())
    symlinkSync(path.join(folder, 'nowhere'), file())
    expect(() => write(existing)).toThrow(/symbolic link|EEXIST/)
    expect(readdirSync(folder).sort()).toEqual(['precious', 'results.csv'])
    rmSync(file())
    linkSync(precious, file())
    expect(() => write(existing)).toThrow(/2 names|EEXIST/)
    rmSync(file())
    // With nobody at the other end of the pipe this would wait for ever.
    execFileSync('mkfifo', [file()])
    expect(() => write(existing)).toThrow(/no file|EEXIST/)
  })

  it.skipIf(process.geteuid?.() !== 0)('is not written on where it is somebody else’s (needs root to plant it)', () => {
    writeFileSync(file(), 'mine')
    chownSync(file(), 60_001, 60_001)
    for (const existing of ['append', 'empty'] as const)
      expect(() => write(existing)).toThrow(/belongs to user 60001, not to user 0/)
    expect(readFileSync(file(), 'utf8')).toBe('mine')
  })

  it('leaves what is ours as it was: written on, emptied, or refused', () => {
    write('refuse')
    expect(() => write('refuse')).toThrow(/EEXIST/)
    write('append')
    expect(readFileSync(file(), 'utf8')).toBe('line\nline\n')
    write('empty')
    expect(readFileSync(file(), 'utf8')).toBe('line\n')
    closeSync(openToWrite('/dev/null', { existing: 'empty' }))
    const fd = openToWrite(path.join(folder, 'private'), { existing: 'refuse', mode: 0o600 })
    closeSync(fd)
    expect(statSync(path.join(folder, 'private')).mode & 0o777).toBe(0o600)
  })

  it('does not lead a file that is written whole elsewhere', () => {
    // The name that would be guessed, and the file's own.
    symlinkSync(precious, `${file()}.${process.pid}.unfinished`)
    symlinkSync(precious, file())
    writeFileAtomically(file(), 'results')
    expect(readFileSync(file(), 'utf8')).toBe('results')
    writeFileAtomically(file(), 'more results')
    expect(readFileSync(file(), 'utf8')).toBe('more results')
    expect(readdirSync(folder).sort()).toEqual(['precious', 'results.csv', `results.csv.${process.pid}.unfinished`])
  })
})
