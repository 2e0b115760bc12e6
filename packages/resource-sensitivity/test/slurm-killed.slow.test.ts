import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '@pctodl/numerics'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { longTests } from '../../../test/long-tests.js'
import { OneNodeSlurm, slurmHindrance } from '../../job-array/test/one-node-slurm.js'
import type { ExecutedJob } from '../src/execute/execute-schedule.js'
import { hardware } from './one-node-schedule.js'

const hindrance = slurmHindrance()

describe.skipIf(hindrance)(
  `a scheduler that is killed on a real Slurm${hindrance ? ` (skipped: ${hindrance})` : ''}`,
  () => {
    const slurm = new OneNodeSlurm(hardware)
    const folder = mkdtempSync(path.join(tmpdir(), 'slurm-killed-'))
    beforeAll(() => slurm.up())
    afterAll(async () => {
      await slurm.down()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    })

    it('goes on with its jobs as they are: none runs again, none is preempted, ends are when they were', async () => {
      // As long as the lives together, or nearly.
      const iterations = longTests ? 4500 : 400
      const loader = import.meta.resolve('tsx')
      const program = path.join(import.meta.dirname, 'killed-schedule.ts')
      const start = () =>
        spawn(
          process.execPath,
          ['--conditions=@pctodl/source', '--import', loader, program, folder, String(iterations)],
          {
            env: { ...process.env, SLURM_CONF: slurm.configurationFile },
            stdio: ['ignore', 'pipe', 'inherit'],
          },
        )
      // Killed at any moment: while it starts, while jobs run, and after one has ended.
      const random = new SeededRandom(11)
      const lives = longTests
        ? Array.from({ length: 50 }, () => 700 + 3500 * random.uniform())
        : [2500, 3100, 1300, 4200]
      for (const livesMs of lives) {
        const child = start()
        const closed = once(child, 'close')
        await sleep(livesMs)
        child.kill('SIGKILL')
        await closed
      }
      const last = start()
      let printed = ''
      last.stdout!.on('data', (text) => {
        printed += text
      })
      await once(last, 'close')
      const results: ExecutedJob[] = JSON.parse(printed)
      expect(results.map(({ outcome, runs }) => [outcome, runs])).toEqual([0, 1, 2].map(() => ['finished', 1]))
      const journal = readFileSync(path.join(folder, 'work', 'journal.jsonl'), 'utf8')
      expect(journal).not.toContain('"preempt"')
      expect(journal.match(/"type":"finished"/g)).toHaveLength(3)
      // The end of each is the one that its node noted.
      const { startedUnixMs } = JSON.parse(journal.slice(0, journal.indexOf('\n')))
      for (const { job, finishS } of results) {
        const notedUnixS = Number(readFileSync(path.join(folder, 'work', 'exit', `${job.id}.1`), 'utf8').split(' ')[0])
        expect(Math.abs(finishS - (notedUnixS - startedUnixMs / 1000))).toBeLessThan(1.5)
      }
    }, 400_000)
  },
)
