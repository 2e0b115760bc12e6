import { readFileSync } from 'node:fs'
import { renderPng, renderSvg } from '@pctodl/charts'
import { describe, expect, it } from 'vitest'
import { draw } from '../examples/draw.js'

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

  it('that is malformed is an error and does not stop the next', async () => {
    await expect(renderSvg({ mark: 'line', data: { url: 'nowhere.csv' }, encoding: 7 } as never)).rejects.toThrow(
      'cannot be drawn',
    )
    expect((await draw()).svg).toContain('SM clock, MHz')
  })
})

it('README shows the example as it stands in the file', () => {
  const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
  const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
  expect(blocks).toEqual([read('../examples/draw.ts')])
})
