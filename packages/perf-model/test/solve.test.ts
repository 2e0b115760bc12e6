import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { boardConstants } from '../src/board-constants.js'
import { loadPerfModel } from '../src/index.js'
import { KindField as at } from '../src/kind.js'
import { KindTable } from '../src/kind-table.js'
import { Mix, prepare } from '../src/mix.js'
import { Solution, solve } from '../src/solve.js'

const max = (power: number, ...values: number[]) =>
  values.reduce((sum, value) => sum + value ** power, 0) ** (1 / power)

describe.each(['A100', '3080Ti'])('what is solved on the %s', (name) => {
  const model = loadPerfModel(name)
  const { spec, parameters } = model
  const board = boardConstants(spec, parameters.boardParameters)
  const { launchClients, hostClients, cacheReachMb, bandwidthCeiling } = board.parameters
  const kinds = new KindTable(parameters, spec, board)
  const random = new SeededRandom(17)
  const tpcs = spec.smCount / spec.smPerTpc

  /** The equations as the guide states them, for tenant `i` at a slowdown and a pace of the others. */
  function timesOf(offsets: readonly number[], memIndex: number, i: number, smClockMhz: number) {
    const c = kinds.records
    const offset = offsets[i]!
    const of = (key: keyof typeof at) => c[offset + at[key]]!
    const others = (key: 'launchDemand' | 'hostDemand') =>
      offsets.reduce((sum, other) => sum + c[other + at[key]]!, 0) - of(key)
    const traffic = offsets.reduce((sum, other) => sum + c[other + at.trafficMb]!, 0)
    const missPart = traffic / (traffic + cacheReachMb)
    const msPerMb = max(2, (of('ownCycles') * missPart) / smClockMhz, board.msPerMb[memIndex]! * missPart)
    return (slowdown: number, pace: number, topUnqueuedMs?: number) => {
      const accessMs = msPerMb * slowdown
      const overlapped = max(2, of('cycles') / smClockMhz, of('mixedMb') * accessMs)
      const deviceMs = overlapped + of('streamMb') * accessMs + of('gapMs')
      const load = (1 + pace * others('launchDemand')) / launchClients
      const unqueuedMs = max(8, deviceMs, of('launchMs8') ** (1 / 8) * max(4, 1, load)) + of('hostMs')
      const hostOthers = others('hostDemand') * of('hostSlowdown')
      const served = (of('hostMs') + hostOthers * (topUnqueuedMs ?? unqueuedMs)) / hostClients
      const perMs = of('trafficMb') * board.msPerMb[memIndex]! * missPart
      return { batchMs: max(8, unqueuedMs, served), unqueuedMs, drawnMs: perMs / bandwidthCeiling }
    }
  }

  it('keeps the equations to a part in a thousand million', () => {
    const mix = new Mix()
    const solution = new Solution()
    const found = new Int32Array(40)
    for (let round = 0; round < 300; round++) {
      const count = 1 + random.integer(round % 3 === 0 ? 40 : 6)
      const memIndex = random.integer(model.memClocksMhz.length)
      const tenants = Array.from({ length: count }, () =>
        kinds.numberOf(random.integer(model.networks.length), 1 + random.integer(tpcs), 1 << random.integer(9)),
      )
      kinds.find(tenants, count, memIndex, found)
      const offsets = [...found.subarray(0, count)]
      prepare(board, kinds.records, offsets, count, memIndex, mix)
      const atTop = offsets.map((_, i) => timesOf(offsets, memIndex, i, board.topClockMhz)(mix.topSlowdown, 1))
      const demand = atTop.reduce((sum, { batchMs, drawnMs }) => sum + drawnMs / batchMs, 0)
      expect(Math.abs(mix.topSlowdown * (1 - demand * demand) - 1)).toBeLessThan(1e-9)

      const smClockMhz = 210 + random.uniform() * (board.topClockMhz - 210)
      solve(board, kinds.records, mix, smClockMhz, solution)
      offsets.forEach((_, i) => {
        const { batchMs: topMs, unqueuedMs } = atTop[i]!
        const latencyMs = solution.latencyMs[i]!
        const pace = topMs / latencyMs
        const slowdown = 1 / (1 - (1 - 1 / mix.topSlowdown) * pace * pace)
        const { batchMs } = timesOf(offsets, memIndex, i, smClockMhz)(slowdown, pace, unqueuedMs)
        expect(Math.abs(batchMs / latencyMs - 1)).toBeLessThan(1e-9)
      })
      solve(board, kinds.records, mix, board.topClockMhz, solution)
      atTop.forEach(({ batchMs }, i) => {
        expect(Math.abs(solution.latencyMs[i]! / batchMs - 1)).toBeLessThan(1e-9)
      })
    }
  })
})
