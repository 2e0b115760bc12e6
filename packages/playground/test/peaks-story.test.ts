import { loadPerfModel } from '@pctodl/perf-model'
import { smClocksAt } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { tellOfPeaks } from '../site/learn/peaks-story.js'
import { tellStory } from '../site/learn/stories.js'
import { tellOfTheUnknown } from '../site/learn/unknown-story.js'

it.each(['3080Ti', 'A100'])('the story of the average says of %s what its picture shows', async (board) => {
  const { finding, plot } = await tellOfPeaks(loadPerfModel(board), 'resnet50')
  const [times, trueW, readW] = plot.values.map((column) => column.map((value) => value ?? 0))
  expect(times![0]).toBeGreaterThanOrEqual(0)
  expect(finding).toContain(`reach ${Math.max(...trueW!).toFixed(0)} W`)
  expect(finding).toContain(`never shows more than ${Math.max(...readW!).toFixed(0)} W`)
  expect(Math.max(...readW!)).toBeLessThan(Math.max(...trueW!))
})

it.each(['3080Ti', 'A100'])('the story of errors says of %s what its picture shows, by width', async (board) => {
  const { finding, plot } = await tellOfTheUnknown(loadPerfModel(board), 'resnet50')
  const columns = plot.values.map((column) => column.map((value) => value ?? 0))
  const errors = columns.find((column) => column.some((value) => value < 0) && column.some((value) => value > 0))!
  expect(finding).toContain(`the largest ${Math.max(...errors.map(Math.abs)).toFixed(0)} %`)
  const [one, other] = columns.filter((column) => column !== errors).slice(-2)
  const widths = one!.map((value, i) => Math.abs(value - other![i]!))
  expect(widths).toEqual(widths.toSorted((a, b) => a - b))
  expect(widths.at(-1)).toBeGreaterThan(widths[0]!)
  const inside = errors.filter(
    (error, i) => error >= Math.min(one![i]!, other![i]!) && error <= Math.max(one![i]!, other![i]!),
  )
  expect(finding).toContain(`, ${inside.length} lie within`)
})

it.each(['3080Ti', 'A100'])('the story of energy compares with full speed on %s', async (board) => {
  const { finding } = await tellStory({ name: 'energy', board, model: 'resnet50' })
  const [, saved, given] = /(\d+) % less than at full speed, for (\d+) % less throughput/.exec(finding)!.map(Number)
  expect(saved).toBeGreaterThan(0)
  expect(saved).toBeLessThan(100)
  expect(given).toBeGreaterThan(0)
  expect(given).toBeLessThan(100)
})

it.each(['3080Ti', 'A100'])('the story of batches draws on %s each size once, from one sample on', async (board) => {
  const { finding, plot } = await tellStory({ name: 'batches', board, model: 'resnet50' })
  const [sizes, throughput] = plot.values.map((column) => column.map((value) => value ?? 0))
  expect(sizes![0]).toBe(1)
  expect(sizes).toEqual([...new Set(sizes)].toSorted((a, b) => a - b))
  expect(finding).toContain(`with batches of ${sizes![throughput!.findIndex((percent) => percent >= 90)]}.`)
})

describe.each(['3080Ti', 'A100'])('on %s, computed again from the processes that a story names', (board) => {
  const predictor = loadPerfModel(board)
  const [memClockMhz] = predictor.memClocksMhz as [number]
  const clocks = smClocksAt(predictor.spec, memClockMhz)!
  const boost = clocks.findLast((clock) => clock <= predictor.spec.boostClockMhz)!
  /** A prediction for equal processes that share the whole board. */
  const at = (count: number, smClockMhz: number, memory = memClockMhz) => {
    const tenants = new Array(count).fill({ model: 'resnet50', mpsPercent: 100 / count, batchSize: 32 })
    return predictor.predict({ tenants, smClockMhz, memClockMhz: memory })
  }
  const told = async (name: 'clock' | 'shares' | 'energy') => {
    const { finding, plot } = await tellStory({ name, board, model: 'resnet50' })
    return {
      figures: finding
        .replace('resnet50', '')
        .match(/\d+(\.\d+)?/g)!
        .map(Number),
      values: plot.values,
    }
  }

  it('a lower clock keeps and draws what is told', async () => {
    const { figures, values } = await told('clock')
    const top = clocks.at(-1)!
    const half = clocks.findLast((clock) => clock <= 0.6 * top)!
    const percent = (of: 'throughput' | 'powerW') => Math.round((100 * at(1, half)[of]) / at(1, top)[of])
    expect(figures).toEqual([half, top, percent('throughput'), percent('powerW')])
    for (const column of values.slice(1)) expect(column.at(-1)).toBeCloseTo(100, 9)
  })

  it('the best number of processes is that of the picture', async () => {
    const { figures, values } = await told('shares')
    const [counts, rates] = values as [number[], number[]]
    expect(counts[0]).toBe(1)
    rates.forEach((rate, i) => {
      expect(rate).toBeCloseTo(at(counts[i]!, boost).throughput, 6)
    })
    const most = Math.max(...rates)
    const count = counts[rates.indexOf(most)]!
    const latency = at(count, boost).tenants[0]!.latencyMs / at(1, boost).tenants[0]!.latencyMs
    expect(figures).toEqual([
      count,
      Math.round(most),
      Math.round(100 * (most / rates[0]! - 1)),
      Number(latency.toFixed(1)),
    ])
  })

  it('the least energy of a sample is the lowest point of the picture', async () => {
    const { figures, values } = await told('energy')
    const [least, clock, lowest, highest, memory] = figures
    const energies = values
      .slice(1)
      .flat()
      .filter((value) => value !== null)
    expect(least).toBe(Number(Math.min(...energies).toFixed(4)))
    const cheapest = at(4, clock!, memory)
    expect(least).toBe(Number((cheapest.powerW / cheapest.throughput).toFixed(4)))
    expect([lowest, highest]).toEqual([Math.min(...(values[0] as number[])), Math.max(...(values[0] as number[]))])
  })
})
