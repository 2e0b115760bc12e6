import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { RunLog } from '../src/profile/run-report.js'

describe('the log of runs', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'run-log-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const report = { iterationS: { mean: 1, low: null, high: null }, iterations: null }

  it('is written on, and not where a link leads that has taken its place', () => {
    const file = path.join(folder, 'runs.jsonl')
    const log = new RunLog(file, 'job')
    log.add(2, report)
    expect(new RunLog(file, 'job').get(2)).toEqual(report)
    const precious = path.join(folder, 'precious')
    writeFileSync(precious, 'precious')
    rmSync(file)
    symlinkSync(precious, file)
    expect(() => log.add(4, report)).toThrow(expect.objectContaining({ code: 'CANNOT_WRITE' }))
    expect(readFileSync(precious, 'utf8')).toBe('precious')
    expect(log.get(4)).toBeUndefined()
  })
})
