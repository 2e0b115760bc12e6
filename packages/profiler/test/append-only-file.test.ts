import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AppendOnlyFile } from '../src/trace/append-only-file.js'

describe('a file of lines that only grows', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'append-only-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  const at = (name: string) => path.join(folder, name)
  const write = (...lines: string[]) => {
    const file = new AppendOnlyFile(at('trace.csv'), 'a,b')
    for (const line of lines) file.append(line)
    file.close()
  }

  it('goes on where it ended, without what a killed writer left of a line', () => {
    write('1,2')
    writeFileSync(at('trace.csv'), 'a,b\n1,2\n3,')
    write('5,6')
    expect(readFileSync(at('trace.csv'), 'utf8')).toBe('a,b\n1,2\n5,6\n')
    for (const text of ['', 'a', 'a,b']) {
      writeFileSync(at('trace.csv'), text)
      write('7,8')
      expect(readFileSync(at('trace.csv'), 'utf8')).toBe('a,b\n7,8\n')
    }
  })

  it('leaves a file that is none of its own exactly as it was, its last half line too', () => {
    for (const text of ['other,columns\n1,2\nhalf', 'no line at all', 'a,b,c']) {
      writeFileSync(at('trace.csv'), text)
      expect(() => write()).toThrow(expect.objectContaining({ code: 'NOT_THIS_FILE' }))
      expect(readFileSync(at('trace.csv'), 'utf8')).toBe(text)
    }
  })

  it('is not led elsewhere by a link in its place', () => {
    writeFileSync(at('precious'), 'a,b\nhalf')
    symlinkSync(at('precious'), at('trace.csv'))
    expect(() => write('1,2')).toThrow(
      expect.objectContaining({ code: 'CANNOT_WRITE', message: expect.stringMatching(/symbolic link/) }),
    )
    expect(readFileSync(at('precious'), 'utf8')).toBe('a,b\nhalf')
  })
})
