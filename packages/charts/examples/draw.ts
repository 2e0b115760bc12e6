import { chartConfig, renderPng, renderSvg, type TopLevelSpec } from '@pctodl/charts'

const points = [900, 1200, 1500, 1800].map((smClockMhz) => ({ smClockMhz, powerW: 60 + 4e-8 * smClockMhz ** 3 }))

const chart: TopLevelSpec = {
  config: chartConfig,
  data: { values: points },
  mark: { type: 'line', point: true },
  encoding: {
    x: { field: 'smClockMhz', type: 'quantitative', title: 'SM clock, MHz', scale: { zero: false } },
    y: { field: 'powerW', type: 'quantitative', title: 'power, W' },
  },
}

export async function draw(): Promise<{ svg: string; png: Uint8Array }> {
  const svg = await renderSvg(chart)
  return { svg, png: await renderPng(svg, 800) }
}
