import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { buildProgram } from './built-program.js'

const KILLS = cases(50, 5)
/** A start, its way to the first row and its end take half a second; this long on a machine with five times the work, ms. */
const ONE_RUN_MS = 10_000

describe('a run that is killed again and again', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-killed-'))
  let built: Awaited<ReturnType<typeof buildProgram>>
  beforeAll(async () => {
    built = await buildProgram()
  })
  afterAll(() => {
    built?.remove()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  function start(out: string): ChildProcess {
    const sweep = ['--models', 'resnet50', '--clocks', '--static', '--f-step', '300', '--seed', '4']
    const args = [built.program, '--backend', 'sim', '--gpu', 'A100', ...sweep, '--out', out, '--resume']
    return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  }

  const filesOf = (out: string) => [out, out.replace('.csv', '.static.csv')]
  const linesIn = (out: string) =>
    filesOf(out)
      .filter((file) => existsSync(file))
      .reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0)

  const ended = (child: ChildProcess) =>
    new Promise<number | NodeJS.Signals>((resolve) => child.on('close', (code, signal) => resolve(signal ?? code!)))

  it(
    `ends with the bytes of a run that was not: SIGKILL at ${KILLS} random moments`,
    async () => {
      const whole = path.join(folder, 'whole.csv')
      expect(await ended(start(whole))).toBe(0)
      const same = (out: string) =>
        filesOf(out).every((file, i) => readFileSync(file).equals(readFileSync(filesOf(whole)[i]!)))

      let out = path.join(folder, 'killed-0.csv')
      const random = new SeededRandom(2)
      const linesAtKills: number[] = []
      while (linesAtKills.length < KILLS) {
        const child = start(out)
        const end = ended(child)
        const killAfter = (ms: number) => setTimeout(() => child.kill('SIGKILL'), ms)
        // One in five dies at any time after its start: before it can read its options, or while it catches up. The others die
        // while they measure, or write, one of their first few rows.
        let timer = linesAtKills.length % 5 === 0 ? killAfter(400 * random.uniform()) : undefined
        child.stderr!.on('data', (text: Buffer) => {
          if (text.includes('[1/')) timer ??= killAfter(20 * random.uniform())
        })
        const how = await end
        clearTimeout(timer)
        if (how === 'SIGKILL') {
          linesAtKills.push(linesIn(out))
          continue
        }
        // It was done before its moment came; the next sweep takes the kills that are left.
        expect(how).toBe(0)
        expect(same(out)).toBe(true)
        out = path.join(folder, `killed-${linesAtKills.length}.csv`)
      }
      expect(await ended(start(out))).toBe(0)
      expect(same(out)).toBe(true)
      // They struck all along the way.
      expect(new Set(linesAtKills).size).toBeGreaterThan(KILLS / 4)
    },
    2 * KILLS * ONE_RUN_MS,
  )
})
