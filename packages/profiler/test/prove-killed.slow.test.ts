import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import { parsePerfModelParameters } from '@pctodl/perf-model'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { buildProgram } from './built-program.js'

const KILLS = cases(50, 2)

describe('a proof that is killed again and again', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-prove-killed-'))
  let built: Awaited<ReturnType<typeof buildProgram>>
  beforeAll(async () => {
    built = await buildProgram('prove-program')
  })
  afterAll(() => {
    built?.remove()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  const start = (out: string): ChildProcess =>
    spawn(process.execPath, [built.program, '--backend', 'sim', '--gpu', 'A100', '--minutes', '30', '--out', out], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  const ended = (child: ChildProcess) =>
    new Promise<number | NodeJS.Signals>((resolve) => child.on('close', (code, signal) => resolve(signal ?? code!)))
  const filesOf = (out: string) => ['rows.csv', 'rows.static.csv'].map((name) => path.join(out, name))
  const rowsIn = (out: string) =>
    filesOf(out)
      .filter((file) => existsSync(file))
      .reduce((sum, file) => sum + Math.max(0, readFileSync(file, 'utf8').split('\n').length - 2), 0)

  it(
    `loses at most the row in progress: SIGKILL at ${KILLS} random moments`,
    async () => {
      const random = new SeededRandom(7)
      let out = path.join(folder, 'killed-0')
      const finished: string[] = []
      const rowsAtKills: number[] = []
      while (rowsAtKills.length < KILLS) {
        const child = start(out)
        const end = ended(child)
        const killAfter = (ms: number) => setTimeout(() => child.kill('SIGKILL'), ms)
        let timer = rowsAtKills.length % 5 === 0 ? killAfter(1000 * random.uniform()) : undefined
        let said = ''
        child.stderr!.on('data', (text: Buffer) => {
          said += text
          if (/^\d+\/\d+ /m.test(said)) timer ??= killAfter(100 * random.uniform())
        })
        const how = await end
        clearTimeout(timer)
        // What it has said to be measured is there.
        const last = [...said.matchAll(/^(\d+)\/\d+ /gm)].at(-1)
        expect(rowsIn(out)).toBeGreaterThanOrEqual(Number(last?.[1] ?? 0))
        if (how === 'SIGKILL') rowsAtKills.push(rowsIn(out))
        else {
          expect(how).toBe(0)
          finished.push(out)
          out = path.join(folder, `killed-${rowsAtKills.length}`)
        }
      }
      expect(await ended(start(out))).toBe(0)
      finished.push(out)
      const whole = path.join(folder, 'whole')
      expect(await ended(start(whole))).toBe(0)
      for (const each of finished) {
        for (const [i, file] of filesOf(each).entries())
          expect(readFileSync(file)).toEqual(readFileSync(filesOf(whole)[i]!))
        const evaluationIn = (of: string) => JSON.parse(readFileSync(path.join(of, 'proof.json'), 'utf8')).evaluation
        expect(evaluationIn(each)).toEqual(evaluationIn(whole))
      }
      becomesAChange(whole, path.join(folder, 'clone'))
      expect(new Set(rowsAtKills).size).toBeGreaterThan(KILLS / 4)
    },
    300_000 + KILLS * 60_000,
  )
})

/** What `evidence/apply.mjs` makes of a proof, in a copy of the files that it changes. */
function becomesAChange(proof: string, clone: string): void {
  const root = path.resolve(import.meta.dirname, '../../..')
  const list = 'packages/perf-model/src/shipped-parameters.ts'
  mkdirSync(path.join(clone, path.dirname(list)), { recursive: true })
  mkdirSync(path.join(clone, 'packages/perf-model/params'))
  copyFileSync(path.join(root, list), path.join(clone, list))
  const apply = () =>
    spawnSync(process.execPath, [path.join(root, 'evidence/apply.mjs'), proof, clone], { encoding: 'utf8' })
  expect(apply().stderr).toContain('is of a simulated board, which proves nothing')
  const file = path.join(proof, 'proof.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace('"backend": "sim"', '"backend": "nvml"'))
  expect(apply()).toMatchObject({ status: 0, stderr: '' })
  expect(readFileSync(path.join(clone, 'evidence/A100/rows.csv'))).toEqual(readFileSync(path.join(proof, 'rows.csv')))
  const parameters = JSON.parse(readFileSync(path.join(clone, 'packages/perf-model/params/A100.json'), 'utf8'))
  expect(parsePerfModelParameters(parameters).board).toBe('A100')
  expect(readFileSync(path.join(clone, list), 'utf8')).toMatch(
    /import boardA100 from '..\/params\/A100.json'\nimport \{ PerfModel[\s\S]*A100: a100, 'A100': boardA100 \}/,
  )
}
