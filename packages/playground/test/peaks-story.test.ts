import { loadPerfModel } from '@pctodl/perf-model'
import { expect, it } from 'vitest'
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
