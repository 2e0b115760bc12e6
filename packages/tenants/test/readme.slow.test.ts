import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { onnxWorker, parseCommand, parseReport } from '@pctodl/tenants'
import { describe, expect, it } from 'vitest'
import { answerRequests } from '../examples/answer-requests.js'
import { measureTwo } from '../examples/measure-two.js'
import { buildWorker } from './built-worker.js'

const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
const readme = read('../README.md')
const blocks = (language: string, page = readme) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text]) => text!)

describe('the pages', () => {
  it('shows an example that works, as it stands in the file', async () => {
    expect(blocks('ts')).toEqual([read('../examples/measure-two.ts')])
    expect(readme).toContain('](examples/answer-requests.ts)')
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-readme-'))
    const { program, remove } = await buildWorker()
    const cache = process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache')
    const modelFolder = path.join(cache, 'pctodl-tenants', 'models')
    try {
      const lines = await measureTwo(folder, onnxWorker({ device: 'cpu', program, modelFolder }))
      expect(lines).toHaveLength(2)
      expect(lines[0]).toMatch(/^mobilenet_v2: [1-9][\d.]* samples\/s, 95 % of the batches within [1-9]\d* ms$/)
      const answered = await answerRequests(folder, onnxWorker({ device: 'cpu', program, modelFolder }))
      expect(answered).toMatch(/^(completed|shed) after \d+ ms; [\d.]+ requests\/s, p99 \d+ ms, \d+ % in time$/)
    } finally {
      remove()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  })

  it('shows commands and reports of the protocol', () => {
    const [commands, reports] = blocks('jsonl', read('../PROTOCOL.md')).map((text) => text.trim().split('\n'))
    expect(commands!.map((line) => parseCommand(line).type)).toEqual([
      'start',
      'batch',
      'report',
      'drain',
      'start',
      'run',
    ])
    expect(reports!.map((line) => parseReport(line).type)).toEqual([
      'hello',
      'heartbeat',
      'ready',
      'progress',
      'failed',
      'drained',
      'answered',
    ])
  })
})
