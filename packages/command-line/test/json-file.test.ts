import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readJson } from '../src/index.js'

describe('readJson', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'json-file-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const file = path.join(folder, 'a.json')
  /** Accepts what has a number `at.n`, as a zod schema would. */
  const schema = {
    safeParse: (value: unknown) =>
      typeof (value as { at?: { n?: unknown } }).at?.n === 'number'
        ? {}
        : { error: { issues: [{ path: ['at', 'n'], message: 'a number' }] } },
  }
  const read = (text: string) => {
    writeFileSync(file, text)
    return readJson(schema, file, 'a made-up file')
  }

  it('keeps fields that the schema does not name', () => {
    expect(read('{"at":{"n":1},"more":2}')).toEqual({ at: { n: 1 }, more: 2 })
  })

  it('names file, field, value and what was expected', () => {
    expect(() => read('{"at":{"n":"x"}}')).toThrow(`${file}: at.n: got 'x', expected a made-up file (a number)`)
    expect(() => read('{}')).toThrow(`${file}: at.n: got undefined, expected`)
    expect(() => read('{')).toThrow(/a\.json: got .*expected a made-up file/)
    expect(() => readJson(schema, path.join(folder, 'none.json'), 'a made-up file')).toThrow('ENOENT')
  })
})
