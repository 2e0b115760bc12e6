import { describe, expect, it } from 'vitest'
import { comparisonChart } from '../src/chart/comparison-chart.js'
import { matrixChart } from '../src/chart/matrix-chart.js'
import { renderPng, renderSvg } from '../src/charts.js'
import { summarizeRun } from '../src/verdict/run-summary.js'
import { dynamicSetting, fixedSetting, manners, syntheticRuns } from './synthetic-runs.js'

const shortSetting = { ...fixedSetting, durationMs: 60_000 }
const runs = syntheticRuns(shortSetting)

/** The words of a picture. */
function texts(svg: string): string[] {
  return [...svg.matchAll(/<(?:text|tspan)[^>]*>([^<]+)</g)].map((match) => match[1]!)
}

/** Width and height from the header chunk of a PNG. */
function pngSize(png: Uint8Array): [number, number] {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength)
  return [view.getUint32(16), view.getUint32(20)]
}

describe('comparisonChart', () => {
  it('names the task, the cap and every algorithm with its verdict', async () => {
    const svg = await renderSvg(comparisonChart(runs))
    const words = texts(svg)
    expect(words).toContain('Task 20: resnet50 on imagenet, NVIDIA A100-PCIE-40GB')
    expect(words).toContain('cap 180 W')
    expect(words).toContain('time, s')
    for (const { algorithm } of manners) expect(words).toContain(algorithm)
    expect(words.filter((text) => text.startsWith('holds the cap'))).toHaveLength(4)
    expect(words.filter((text) => text.startsWith('VIOLATES the cap, above it'))).toHaveLength(1)
    expect(words.filter((text) => /^\d+\/s/.test(text))).toHaveLength(5)
    expect(svg).not.toMatch(/NaN|Infinity|undefined/)
  })

  it('labels every step of a changing cap', async () => {
    const words = texts(await renderSvg(comparisonChart(syntheticRuns(dynamicSetting))))
    for (const label of ['cap 200 W', 'cap 160 W', 'cap 120 W', 'time, min']) expect(words).toContain(label)
  })

  it('shows the power of a run far below its cap', () => {
    const [{ power, ...run }] = runs as [(typeof runs)[number]]
    const { trueW: _, ...readings } = power
    const low = { ...run, power: { ...readings, sensorW: power.timeMs.map(() => 60) } }
    expect(JSON.stringify(comparisonChart([low]))).toContain('axis from 40 W')
    expect(JSON.stringify(comparisonChart(runs))).toContain('axis from 100 W')
  })

  it('draws a run whose power is partly or never known', async () => {
    const [first, second] = runs
    const { timeMs, powerCapW, sensorW } = first!.power
    const gap = sensorW.map((watts, i) => (i > 200 && i < 300 ? null : watts))
    const blind = sensorW.map(() => null)
    const svg = await renderSvg(
      comparisonChart([
        { ...first!, power: { timeMs, powerCapW, sensorW: gap } },
        { ...second!, power: { timeMs, powerCapW, sensorW: blind } },
      ]),
    )
    expect(svg).not.toMatch(/NaN|Infinity|undefined/)
    expect(texts(svg)).toContain('power not known')
    // The line of the first run is broken once: its path moves twice.
    const line = svg.match(/<path[^>]*d="([^"]*)"[^>]*stroke="#0072B2"[^>]*>/)![1]!
    expect(line.match(/M/g)).toHaveLength(2)
  })

  it('of services shows arrivals and missed requests instead of throughput', async () => {
    const counts = Array.from({ length: 60 }, (_, i) => (i < 2 ? null : i))
    const perSecond = [{ service: 'chat', arrived: counts, missed: counts }]
    const service = { service: 'chat', goodputPerS: 9, attainment: 1, objectiveMet: true, p99Ms: 5, shed: 0, failed: 0 }
    const requests = { services: [service], meanPowerW: 100, energyPerRequestJ: 1, perSecond }
    const svg = await renderSvg(comparisonChart(runs.map((run) => ({ ...run, requests }))))
    const words = texts(svg)
    for (const word of ['Arrivals, requests/s', 'chat', 'morak']) expect(words).toContain(word)
    expect(words.some((word) => word.startsWith('Requests that missed their objective'))).toBe(true)
    expect(words.some((word) => word.startsWith('Throughput'))).toBe(false)
    expect(svg).not.toMatch(/NaN|Infinity|undefined/)
  })

  it('draws runs without a restart, without windows, and with no second that counts', async () => {
    const calm = runs.map((run) => ({ ...run, windows: run.windows.map((each) => ({ ...each, reconfigured: false })) }))
    const perSecond = [{ service: 'chat', arrived: [null, null], missed: [null, 0] }]
    const requests = { services: [], meanPowerW: 100, energyPerRequestJ: null, perSecond }
    for (const some of [
      calm,
      calm.map((run) => ({ ...run, windows: [] })),
      calm.map((run) => ({ ...run, requests })),
      calm.map((run) => ({ ...run, requests: { ...requests, perSecond: [] } })),
    ]) {
      const svg = await renderSvg(comparisonChart(some))
      expect(texts(svg)).toContain('morak')
      expect(svg).not.toMatch(/NaN|Infinity|undefined|hollow/)
    }
  })

  it('is the same picture for the same runs, also when drawn side by side', async () => {
    const spec = comparisonChart(runs)
    const [one, two] = await Promise.all([renderSvg(spec), renderSvg(spec)])
    expect(two).toBe(one)
    expect(await renderSvg(comparisonChart(syntheticRuns(shortSetting)))).toBe(one)
  })

  it('refuses a run of another task', () => {
    const other = { ...runs[1]!, taskId: 13 }
    expect(() => comparisonChart([runs[0]!, other])).toThrow(/^runs\[1\]: got 'task 13 on .*expected task 20/)
  })
})

describe('renderPng', () => {
  it('gives a PNG of the width asked for, with text in it', async () => {
    const svg = await renderSvg(comparisonChart(runs))
    const png = await renderPng(svg)
    expect([...png.subarray(0, 8)]).toEqual([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
    const [width, height] = pngSize(png)
    expect(width).toBe(1200)
    const [, svgWidth, svgHeight] = svg.match(/<svg[^>]* width="([\d.]+)" height="([\d.]+)"/)!.map(Number)
    expect(Math.abs(height - (1200 * svgHeight!) / svgWidth!)).toBeLessThanOrEqual(1)
    expect(pngSize(await renderPng(svg, 600))[0]).toBe(600)
    // A font that were not found would leave the words out: the picture would be that of the SVG without them.
    const wordless = await renderPng(svg.replaceAll(/<text[^>]*>[^<]*<\/text>/g, ''))
    expect(png.length).toBeGreaterThan(wordless.length + 5000)
  })

  it('renders a failure of one chart without spoiling the next', async () => {
    await expect(renderSvg({ mark: 'no such mark' } as never)).rejects.toThrow()
    expect(await renderSvg(comparisonChart(runs.slice(0, 1)))).toContain('<svg')
  })
})

describe('matrixChart', () => {
  const summaries = [...runs, ...syntheticRuns({ ...shortSetting, taskId: 21, model: 'vgg19' })].map(summarizeRun)

  it('shows every task against its fastest run that holds', async () => {
    const svg = await renderSvg(matrixChart(summaries))
    const words = texts(svg)
    for (const text of ['Throughput under the power cap, NVIDIA A100-PCIE-40GB', '20: resnet50', '21: vgg19']) {
      expect(words).toContain(text)
    }
    expect(words.filter((text) => /^pctodl [\d.]+\/s$/.test(text))).toHaveLength(2)
    expect(svg).not.toMatch(/NaN|Infinity|undefined/)
  })

  it('draws violating runs hollow, and says where none holds', async () => {
    const violating = summaries
      .filter((summary) => summary.taskId === 21)
      .map((summary) => ({ ...summary, timeAboveCapPercent: 31, verdict: { status: 'violates' as const, reason: '' } }))
    const svg = await renderSvg(matrixChart([...summaries.slice(0, 5), ...violating]))
    const bars = [...svg.matchAll(/<path aria-label="([^"]*)"[^>]*aria-roledescription="bar"[^>]*>/g)]
    const filled = bars.filter(([bar]) => bar.includes('fill="#'))
    expect(bars).toHaveLength(10)
    expect(filled).toHaveLength(4)
    for (const [, label] of filled) expect(label).toMatch(/task: 20.*algorithm: (?!morak)/s)
    expect(texts(svg).filter((text) => text === '31 %')).toHaveLength(5)
    expect(texts(svg).some((text) => text.startsWith('none holds; '))).toBe(true)
  })
})
