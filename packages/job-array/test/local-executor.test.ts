import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Job, LocalExecutor } from '@pctodl/job-array'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { squares } from '../examples/squares.js'
import type { JobOutcome } from '../src/job-array.js'

const node = (script: string, ...args: string[]) => [process.execPath, '-e', script, ...args] as const

describe('jobs on this machine', () => {
  it('end with their exit codes, in the order of the jobs, each once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
        fc.integer({ min: 1, max: 3 }),
        async (codes, concurrency) => {
          const jobs: Job[] = codes.map((code, i) => ({ id: `job ${i}`, command: ['sh', '-c', `exit ${code}`] }))
          const seen: JobOutcome[] = []
          const outcomes = await new LocalExecutor({ concurrency }).run(jobs, { onOutcome: (o) => seen.push(o) })
          expect(outcomes.map(({ exitCode }) => exitCode)).toEqual(codes)
          expect(seen.map(({ id }) => id).sort()).toEqual(jobs.map(({ id }) => id))
        },
      ),
      { numRuns: 15 },
    )
  })

  it('never run more at a time than allowed', async () => {
    let running = 0
    let most = 0
    const started = mkdtempSync(path.join(tmpdir(), 'pctodl-jobs-'))
    onTestFinished(() => rmSync(started, { recursive: true, force: true, maxRetries: 5 }))
    // None ends before a second one has begun, however slowly processes start here.
    const program = `console.log('begin')
      require('node:fs').writeFileSync(${JSON.stringify(started)} + '/' + process.pid, '')
      const others = setInterval(() => {
        if (require('node:fs').readdirSync(${JSON.stringify(started)}).length < 2) return
        clearInterval(others)
        setTimeout(() => console.log('end'), 300)
      }, 20)`
    const jobs: Job[] = Array.from({ length: 6 }, (_, i) => ({ id: String(i), command: node(program) }))
    await new LocalExecutor({ concurrency: 2 }).run(jobs, {
      onLine: (_id, line) => {
        running += line === 'begin' ? 1 : -1
        most = Math.max(most, running)
      },
    })
    expect(most).toBe(2)
  })

  it('hand over their lines, and from which stream', async () => {
    const lines: string[] = []
    await new LocalExecutor({ concurrency: 1 }).run(
      [{ id: 'a', command: node("console.log('one\\ntwo'); console.error('three')") }],
      { onLine: (id, line, stream) => lines.push(`${id} ${stream} ${line}`) },
    )
    expect(lines.sort()).toEqual(['a stderr three', 'a stdout one', 'a stdout two'])
  })

  it('are ended when they take too long, by force if they do not listen', async () => {
    const stubborn = node("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)")
    const [outcome] = await new LocalExecutor({ concurrency: 1, timeoutMs: 300, graceMs: 100 }).run([
      { id: 'stubborn', command: stubborn },
    ])
    expect(outcome).toEqual({ id: 'stubborn', exitCode: null, attempts: 1, reason: 'took longer than 0.3 s' })
  })

  it('are all ended when the caller gives up, and no other starts', async () => {
    const pids: number[] = []
    const giveUp = new AbortController()
    const script = 'console.log(process.pid); setInterval(() => {}, 1000)'
    const jobs: Job[] = Array.from({ length: 5 }, (_, i) => ({ id: String(i), command: node(script) }))
    const running = new LocalExecutor({ concurrency: 2 }).run(jobs, {
      signal: giveUp.signal,
      onLine: (_id, line) => {
        pids.push(Number(line))
        if (pids.length === 2) giveUp.abort(new Error('enough'))
      },
    })
    await expect(running).rejects.toThrow('enough')
    expect(pids).toHaveLength(2)
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow()
  })

  it('that cannot be started say why', async () => {
    const [outcome] = await new LocalExecutor({ concurrency: 1 }).run([{ id: 'a', command: ['/no/such/program'] }])
    expect(outcome).toMatchObject({ exitCode: null, reason: expect.stringContaining('ENOENT') })
  })

  it.each([
    [{ concurrency: 0 }, 'concurrency'],
    [{ concurrency: 1.5 }, 'concurrency'],
    [{ concurrency: 1, timeoutMs: 0 }, 'timeoutMs'],
  ])('refuses %j', (options, field) => {
    expect(() => new LocalExecutor(options)).toThrow(field)
  })
})

it('README shows an example that works', async () => {
  const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
  const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
  expect(blocks).toEqual([read('../examples/squares.ts')])
  expect(await squares([2, 3])).toEqual({ printed: ['2: 4', '3: 9'], failed: 0 })
})
