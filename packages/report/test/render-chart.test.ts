import { inflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { chartConfig, renderPdf, renderPng, renderSvg, type TopLevelSpec } from '../src/charts.js'

const chart: TopLevelSpec = {
  config: chartConfig,
  data: { values: [900, 1200, 1500, 1800].map((smClockMhz) => ({ smClockMhz, powerW: 60 + 4e-8 * smClockMhz ** 3 })) },
  mark: { type: 'line', point: true },
  encoding: {
    x: { field: 'smClockMhz', type: 'quantitative', title: 'SM clock, MHz', scale: { zero: false } },
    y: { field: 'powerW', type: 'quantitative', title: 'power, W' },
  },
}

async function draw(): Promise<{ svg: string; png: Uint8Array }> {
  const svg = await renderSvg(chart)
  return { svg, png: await renderPng(svg, 800) }
}

describe('a chart', () => {
  it('is the same text every time, drawn alone or beside others', async () => {
    const [{ svg: first }, { svg: second }] = await Promise.all([draw(), draw()])
    expect(first).toMatch(/^<svg[^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/)
    expect(second).toBe(first)
    expect((await draw()).svg).toBe(first)
  })

  it('becomes a PNG of the width asked for, with its text set', async () => {
    const { svg, png } = await draw()
    const view = new DataView(png.buffer, png.byteOffset)
    expect(view.getUint32(0)).toBe(0x89504e47)
    expect(view.getUint32(16)).toBe(800)
    const withoutText = await renderPng(svg.replaceAll(/<text[\s\S]*?<\/text>/g, ''), 800)
    expect(png.length).toBeGreaterThan(withoutText.length)
  })

  it('fills the page of a PDF of the width asked for', async () => {
    const { svg } = await draw()
    const pdf = Buffer.from(await renderPdf(svg, 8.5))
    const [, width] = /\/MediaBox \[0 0 ([\d.]+) [\d.]+\]/.exec(pdf.toString('latin1'))!.map(Number)
    expect(width! / (72 / 2.54)).toBeCloseTo(8.5, 3)
    const streams = pdf
      .toString('latin1')
      .split(/(?<!end)stream\n/)
      .slice(1)
    const texts = streams.map((text) => inflateSync(Buffer.from(text, 'latin1')).toString('latin1'))
    const scales = [...texts.join('\n').matchAll(/^([\d.]+) 0 0 \1 0 0 cm$/gm)].map(([, scale]) => Number(scale))
    const [, pixels] = /viewBox="0 0 ([\d.]+) /.exec(svg)!.map(Number)
    expect(scales.reduce((all, scale) => all * scale, pixels!)).toBeCloseTo(width!, 1)
  })

  it('that is malformed is an error and does not stop the next', async () => {
    await expect(renderSvg({ mark: 'line', data: { url: 'nowhere.csv' }, encoding: 7 } as never)).rejects.toThrow(
      'cannot be drawn',
    )
    expect((await draw()).svg).toContain('SM clock, MHz')
  })
})
