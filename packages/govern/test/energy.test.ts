import { describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { someOf } from '../../../test/long-tests.js'
import { energy, govern } from '../src/commands.js'
import { energyOf } from '../src/index.js'
import { type VirtualLoad, VirtualServer } from './virtual-server.js'
import { drawTrial, lawOf, SCRAPE_MS, stepOf, type Trial } from './virtual-trials.js'

const SECONDS = 240
const CLOCKS_MHZ = [1305, 1005, 705, 495]

/** The board with these of its services at work, through the same clocks. */
async function run({ board, loads, seed }: Trial, working: readonly boolean[], judged: boolean) {
  const silent = { nextMs: () => Number.POSITIVE_INFINITY }
  const part = loads.map((load, i): VirtualLoad => (working[i] ? load : { ...load, arrivals: () => silent }))
  const server = await VirtualServer.start(board, part, seed, judged)
  const law = lawOf(server)
  // The first reading of the counter.
  if (judged) await stepOf(law, server)
  else await server.advance(SCRAPE_MS)
  const beginJ = server.gpu.truth().energyJ
  const meteredJ = server.gpu.truth().meteredEnergyJ
  for (let second = 0; second < SECONDS; second++) {
    await server.lock(CLOCKS_MHZ[Math.floor(second / 15) % CLOCKS_MHZ.length]!)
    if (judged) for (let i = 0; i < 4; i++) await stepOf(law, server)
    else await server.advance(1000)
  }
  const { energyJ, meteredEnergyJ } = server.gpu.truth()
  return {
    joules: energyJ - beginJ,
    meteredJ: meteredEnergyJ - meteredJ,
    split: law.power.joules,
    busy: server.batches.map(({ bySize }) => [...bySize.values()].reduce((sum, { ns }) => sum + ns, 0)),
  }
}

describe('energy of each service', () => {
  // Its truth is what a service adds to the board, averaged over whether it comes first or second, and half of what the board draws idle.
  it.each(someOf([12, 13], 13))(
    'is within 5 % of the truth, three times nearer than by utilisation, and sums to the counter (seed %i)',
    async (seed) => {
      let trial = drawTrial('bursts', seed, SECONDS)
      for (let i = 0; trial.loads.length < 2; i += 1000) trial = drawTrial('bursts', seed + i, SECONDS)
      const both = await run(trial, [true, true], true)
      const [first, second, none] = await Promise.all([
        run(trial, [true, false], false),
        run(trial, [false, true], false),
        run(trial, [false, false], false),
      ])
      const own = [
        (both.joules - second.joules + first.joules - none.joules) / 2,
        (both.joules - first.joules + second.joules - none.joules) / 2,
      ]
      const truth = own.map((joules) => ((joules + none.joules / 2) * both.meteredJ) / both.joules)
      const busy = both.busy[0]! + both.busy[1]!
      const byBusy = both.busy.map((ns) => (ns / busy) * both.meteredJ)
      const errorOf = (split: readonly number[]) =>
        Math.max(...split.map((joules, i) => Math.abs(joules / truth[i]! - 1)))
      const message = `${trial.board} ${trial.loads.map(({ service }) => service.name).join(' ')}: ${errorOf(both.split)}, by utilisation ${errorOf(byBusy)}`
      expect(errorOf(both.split), message).toBeLessThan(0.05)
      expect(3 * errorOf(both.split), message).toBeLessThan(errorOf(byBusy))
      expect(Math.abs(both.split[0]! + both.split[1]! - both.meteredJ)).toBeLessThan(0.001 * both.meteredJ)
    },
  )

  it('is read from a log of several runs', () => {
    const line = (requests: number, joules: number) => JSON.stringify({ services: [{ name: 'a', requests, joules }] })
    const log = [line(10, 5), line(20, 10), line(5, 2), '{"serv'].join('\n')
    expect(energyOf(log, 'log')).toEqual([{ service: 'a', requests: 25, joules: 12, joulesPerRequest: 12 / 25 }])
    expect(() => energyOf('nothing\n', 'log')).toThrow('log: no line of pctodl govern --log')
  })

  it('is read from a log with lines that a full disk or a kill cut off', () => {
    const line = (requests: number) => JSON.stringify({ services: [{ name: 'a', requests, joules: requests }] })
    const log = `${line(10)}\n${line(20).slice(0, 30)}${line(5)}\n${line(8)}\n`
    const skipped: number[] = []
    expect(energyOf(log, 'log', (lines) => skipped.push(lines))).toMatchObject([
      { service: 'a', requests: 18, joules: 18 },
    ])
    expect(skipped).toEqual([1])
  })

  it.each([
    ['pctodl energy', energy, []],
    ['pctodl govern', govern, ['--config']],
  ] as const)('a folder instead of a file is named by %s', async (name, command, words) => {
    const { code, stderr } = await callCommand(name, command, [...words, import.meta.dirname])
    expect(code).toBe(1)
    expect(stderr).toBe(
      `${name}: cannot read ${import.meta.dirname}: EISDIR: illegal operation on a directory, read; name a file that can be read\n`,
    )
  })
})
