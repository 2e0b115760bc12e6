import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { EventLogWriter } from '../src/event-log-writer.js'

describe('the record of a run', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'event-log-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  it('begins anew, and is not led elsewhere by a link in its place', () => {
    const file = path.join(folder, 'run.events.jsonl')
    writeFileSync(file, 'of another run\n')
    const log = new EventLogWriter(file)
    log.add({ type: 'done' } as never)
    log.close()
    expect(readFileSync(file, 'utf8')).toBe('{"type":"done"}\n')
    const link = path.join(folder, 'linked.events.jsonl')
    symlinkSync(file, link)
    expect(() => new EventLogWriter(link)).toThrow(
      expect.objectContaining({ code: 'CANNOT_WRITE', message: expect.stringMatching(/symbolic link/) }),
    )
    expect(readFileSync(file, 'utf8')).toBe('{"type":"done"}\n')
  })

  it('is named where its disk is full', () => {
    const log = new EventLogWriter('/dev/full')
    const full = expect.objectContaining({
      code: 'CANNOT_WRITE',
      message: expect.stringMatching(/\/dev\/full: ENOSPC/),
    })
    expect(() => log.add({ type: 'window' } as never)).toThrow(full)
    log.close()
  })

  // Node's own recursive creation of folders never returns there.
  it.runIf(process.platform === 'linux')('is an error in a folder in which nothing can be created', () => {
    expect(() => new EventLogWriter('/proc/none/deep/run.events.jsonl')).toThrow(
      expect.objectContaining({ code: 'CANNOT_WRITE' }),
    )
  })
})
