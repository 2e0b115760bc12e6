import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BuiltChildren, buildChildren } from './built-children.js'
import { missingCompiler, type RunningHost, startHost } from './simulated-host.js'

const ROUNDS = 1000
const PERIOD_MS = 4

describe.skipIf(missingCompiler)(
  `two processes that want one board${missingCompiler ? ` (${missingCompiler})` : ''}`,
  () => {
    let host: RunningHost
    let children: BuiltChildren

    beforeAll(async () => {
      ;[host, children] = await Promise.all([startHost(), buildChildren('test/fixtures/race-child.ts')])
    })
    afterAll(async () => {
      children?.remove()
      await host?.stop()
    })

    it(`never both own it, in ${ROUNDS} races`, async () => {
      const witness = path.join(host.leaseFolder, 'witness')
      const startAt = Date.now() + 1000
      const args = [host.libraryPath, host.leaseFolder, witness, ROUNDS, PERIOD_MS, startAt].map(String)
      const race = () => promisify(execFile)(process.execPath, [children.file('race-child'), ...args])
      const results = (await Promise.all([race(), race()])).map(({ stdout }) => JSON.parse(stdout))
      expect(results.map(({ twoOwners, other }) => ({ twoOwners, other }))).toEqual([
        { twoOwners: 0, other: [] },
        { twoOwners: 0, other: [] },
      ])
      const [a, b] = results
      expect(a.won + a.refused).toBe(ROUNDS)
      expect(b.won + b.refused).toBe(ROUNDS)
      // Both won and both were refused: they really met.
      for (const { won, refused } of results) {
        expect(won).toBeGreaterThan(ROUNDS / 100)
        expect(refused).toBeGreaterThan(0)
      }
    })
  },
)
