import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadPerfModel } from '@pctodl/perf-model'
import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { roomNames } from '../site/address/place.js'
import { firstRun } from '../site/run/run-question.js'
import { SimulatedRun } from '../site/run/simulated-run.js'
import { browserFile, inBrowser, OpenedPlayground } from './open-page.js'

const folder = mkdtempSync(path.join(tmpdir(), 'playground-hostile-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const markup = '<img src=x onerror="window.injected=1"><script>window.injected=1</script>'
const words = ['gpu', 'model', 'services', 'cap', 'caps', 'task', 'policies', 'events', 'seed', 'seconds', 'objective']
const values = [
  markup,
  'javascript:alert(1)',
  '-1',
  '1e308',
  '0x10',
  '%',
  '%00',
  '%E0%A4%A',
  ':::',
  'a:b:1:1,a:b:1:1',
  `${markup}:resnet50:10:50`,
  'x:resnet50:1e6:0.001',
  '9'.repeat(400),
  ','.repeat(5000),
  '__proto__',
  'constructor',
  'toString',
  'A100',
  'kill@1,kill@1,burst@0',
  '200,100@0.1,300@1e300',
]

const hash = fc
  .record({
    room: fc.constantFrom(...roomNames, 'plan/x', '', '..', markup),
    query: fc.array(fc.tuple(fc.constantFrom(...words), fc.constantFrom(...values)), { maxLength: 4 }),
    isEncoded: fc.boolean(),
  })
  .map(({ room, query, isEncoded }) => {
    const text = query.map(([word, value]) => `${word}=${isEncoded ? encodeURIComponent(value) : value}`).join('&')
    return `#/${room}?${text}`
  })

/** Drop files on the page as a hand does: with what the browser itself makes of them. */
async function drop(page: Page, files: readonly { readonly name: string; readonly text: string }[]): Promise<void> {
  const transfer = await page.evaluateHandle(`(() => {
    const made = new DataTransfer()
    for (const { name, text } of ${JSON.stringify(files)}) made.items.add(new File([text], name))
    return made
  })()`)
  await page.dispatchEvent('#question', 'dragover', { dataTransfer: transfer })
  await page.dispatchEvent('#question', 'drop', { dataTransfer: transfer })
}

describe.skipIf(browserFile === undefined)(inBrowser, () => {
  let playground: OpenedPlayground
  beforeAll(async () => {
    playground = await OpenedPlayground.make()
  })
  afterAll(() => playground?.close())

  it('takes any address: no error, nothing runs that it brings, and the page still answers', async () => {
    const complaints: string[] = []
    const page = await playground.open('#/plan', complaints)
    await page.waitForSelector('[data-planned=true]')
    for (const address of [...fc.sample(hash, { numRuns: cases(30, 12), seed: 29 }), '#/run/services?task=no&gpu=no']) {
      await page.evaluate(`location.hash = ${JSON.stringify(address)}`)
      // The rooms are there, and what the address became leads to the same place again.
      await page.waitForSelector('nav[aria-label=Rooms] a[aria-current=page]')
      const became = await page.evaluate('location.hash')
      await page.evaluate("void dispatchEvent(new Event('hashchange'))")
      expect(await page.evaluate('location.hash'), address).toBe(became)
      expect(await page.evaluate('globalThis.injected'), address).toBeUndefined()
      expect(await page.locator('img, iframe, main script').count(), address).toBe(0)
    }
    await page.evaluate("location.hash = '#/plan?gpu=A100&model=vgg19&cap=180'")
    await page.waitForSelector('[data-planned=true] h2:has-text("vgg19 on NVIDIA A100")')
    expect(complaints).toEqual([])
    await page.close()
  })

  it('says what is wrong with what an address asks for', async () => {
    const complaints: string[] = []
    // The first address opens the page; the others are typed over it, and each problem takes the place of the one before.
    const inRooms = [
      ['#/plan?gpu=nothing', "gpu: got 'nothing'"],
      [`#/plan?model=${encodeURIComponent(markup)}`, 'onerror'],
      ['#/plan/services?services=a:nothing:1:100', "'nothing'"],
      ['#/run?model=nothing', "model: got 'nothing'"],
      ['#/run?gpu=nothing', "gpu: got 'nothing'"],
      ['#/run/services?task=nothing', "task: got 'nothing'"],
    ] as const
    const page = await playground.open(inRooms[0][0], complaints)
    for (const [address, said] of inRooms) {
      await page.goto(playground.address(address))
      await page.locator('[role=alert]', { hasText: said }).waitFor()
      expect(await page.locator('[role=alert]').count(), address).toBe(1)
    }
    await page.close()
    expect(complaints).toEqual([])
  })

  it('tells on the page what is wrong with a link, until the question changes', async () => {
    const complaints: string[] = []
    const page = await playground.open('#/plan?cap=-5&policies=foo', complaints)
    const told = page.locator('main > [role=alert] li')
    await told.first().waitFor()
    expect(await told.allTextContents()).toEqual([
      expect.stringContaining("'policies' is no word of this room's links"),
      expect.stringContaining("cap: got '-5', expected a number above 0"),
    ])
    await page.goto(playground.address('#/run?policies=foo&events=x'))
    await page.waitForSelector('main > [role=alert] li:has-text("events: got")')
    expect(await told.count()).toBe(2)
    await page.goto(playground.address('#/plan?cap=190'))
    await page.waitForSelector('[data-planned=true]')
    expect(await told.count()).toBe(0)
    expect(complaints).toEqual([])
    await page.close()
  })

  it('shows a record that is dropped, as text alone, and says what is wrong with others', async () => {
    const run = new SimulatedRun({ ...firstRun, durationS: 10 }, 'powercap', loadPerfModel('3080Ti'))
    run.allow(Number.POSITIVE_INFINITY)
    await run.run(new AbortController().signal)
    const lines = run.record().trimEnd().split('\n')
    const start = { ...JSON.parse(lines[0]!), policy: markup, board: markup }
    const said = { timeMs: 10_000, type: 'tenant', state: 'failed', failure: markup }
    const record = `${[JSON.stringify(start), ...lines.slice(1), JSON.stringify(said)].join('\n')}\n`
    const complaints: string[] = []
    const page = await playground.open('#/run?policies=powercap&seconds=10', complaints)
    await page.click('button:has-text("pause")')
    await drop(page, [
      { name: `${markup}.events.jsonl`, text: record },
      { name: 'none.json', text: JSON.stringify({ recordVersion: 1, board: 'x', algorithm: 'y', windows: [null] }) },
    ])
    await page.waitForSelector('[role=status]:has-text("none.json cannot be shown: ")')
    expect(await page.locator('.front [role=status]').first().textContent()).toContain('none.json: power')
    const row = page.locator('table.policies tbody tr').last()
    expect(await row.locator('strong').textContent()).toBe(markup)
    expect(await row.locator('.tenants-now').textContent()).toBe(`${markup}.events.jsonl, ${markup}`)
    expect(await row.locator('[data-figure=throughput]').textContent()).toContain('samples/s')
    expect(await page.locator('.decisions').textContent()).toContain(`a process failed: ${markup}`)
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.evaluate('globalThis.injected')).toBeUndefined()
    await page.click('summary:has-text("Show an earlier run")')
    await page.click('button:has-text("Close records")')
    expect(await page.locator('table.policies tbody tr').count()).toBe(1)
    expect(complaints).toEqual([])
    await page.close()
  })
})
