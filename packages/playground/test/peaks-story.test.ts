import { loadPerfModel } from '@pctodl/perf-model'
import { expect, it } from 'vitest'
import { tellOfPeaks } from '../site/learn/peaks-story.js'

it.each(['3080Ti', 'A100'])('the story of the average says of %s what its picture shows', async (board) => {
  const { finding, plot } = await tellOfPeaks(loadPerfModel(board), 'resnet50')
  const [times, trueW, readW] = plot.values.map((column) => column.map((value) => value ?? 0))
  expect(times![0]).toBeGreaterThanOrEqual(0)
  expect(finding).toContain(`reach ${Math.max(...trueW!).toFixed(0)} W`)
  expect(finding).toContain(`never shows more than ${Math.max(...readW!).toFixed(0)} W`)
  expect(Math.max(...readW!)).toBeLessThan(Math.max(...trueW!))
})
