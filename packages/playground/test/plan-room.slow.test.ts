import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pctodlPartition } from '@pctodl/greedy-partition/commands'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { barriersEverywhere, browserFile, inBrowser, OpenedPlayground } from './open-page.js'

/** What the command line answers to a command as the page shows it. */
async function answerTo(command: string): Promise<string> {
  const [npx, pctodl, partition, ...argv] = command.trim().split(/\s+/)
  expect([npx, pctodl, partition]).toEqual(['npx', 'pctodl', 'partition'])
  let stdout = ''
  let stderr = ''
  await pctodlPartition(argv, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    signal: new AbortController().signal,
    env: {},
  })
  return stdout + stderr
}

describe.skipIf(browserFile === undefined)(inBrowser, () => {
  let playground: OpenedPlayground
  beforeAll(async () => {
    playground = await OpenedPlayground.make()
  })
  afterAll(() => playground?.close())

  it('plans from disk, with the figures of the command line, and sends nothing', async () => {
    const complaints: string[] = []
    const page = await playground.open('#/plan', complaints)
    const figure = (name: string) => page.locator(`[data-figure=${name}]`).textContent()
    const command = () => page.locator('pre').first().textContent()
    const compare = async () => {
      await page.waitForSelector('[data-planned=true] [data-figure=throughput]')
      const answer = await answerTo((await command())!)
      expect(answer).toContain(`throughput  ${await figure('throughput')} samples/s`)
      expect(answer).toContain(`power       ${await figure('power')} W`)
      const [sm, memory] = (await figure('clocks'))!.split(' / ')
      expect(answer).toContain(`SM ${sm} MHz, memory ${memory} MHz`)
      const rows = await page.locator('table.tenants tbody tr').count()
      for (let row = 0; row < rows; row++) {
        const cells = await page.locator('table.tenants tbody tr').nth(row).locator('td').allTextContents()
        const [, count, share, batch, each] = cells.map((text) => text.match(/[\d.]+/)?.[0])
        expect(answer).toMatch(new RegExp(`^ +${count} .*${share} +${batch} +${each} `, 'm'))
      }
    }
    await compare()
    expect(await command()).toContain('--gpu 3080Ti --model resnet50 --power-cap 200')

    // By the keyboard: the slider, then a second network.
    const slider = page.locator('.slider input[type=range]')
    await slider.press('ArrowLeft')
    await page.waitForSelector('h2:has-text("within 199 W")')
    await compare()
    // The same board, network and cap in the next room, and back.
    await page.click('button:has-text("Run resnet50 under this cap")')
    await page.waitForURL(/#\/run\?gpu=3080Ti&model=resnet50&caps=199&/)
    await page.click('nav a:has-text("Plan")')
    await page.locator('label:has-text("vgg19") input').press('Space')
    await page.waitForSelector('h2:has-text("resnet50, vgg19")')
    await compare()

    // What the address says is all there is: another browser shows the same.
    const address = await page.evaluate('location.hash')
    expect(address).toBe('#/plan?gpu=3080Ti&model=resnet50,vgg19&cap=199')
    const again = await playground.open(address as string, complaints)
    await again.waitForSelector('[data-planned=true] [data-figure=throughput]')
    expect(await again.locator('[data-figure=throughput]').textContent()).toBe(await figure('throughput'))
    await again.close()

    await page.waitForSelector('[data-swept=true]')
    await page.locator('text=Table: the best plan under each cap').click()
    expect(await page.locator('.as-table tbody tr').count()).toBe(40)
    expect(complaints).toEqual([])
    await page.close()
  })

  it('says what stands in the way, as the command line does, and what would help', async () => {
    const complaints: string[] = []
    const page = await playground.open('#/plan?gpu=A100&model=vgg19&cap=30&latency=30&percentile=p99', complaints)
    const refusal = (await page.locator('[role=alert]').textContent())!
    expect(await answerTo((await page.locator('pre').first().textContent())!)).toContain(refusal)
    await page.locator('button:has-text("Take ")').click()
    await page.waitForSelector('[data-planned=true] [data-figure=power]')
    expect(await page.evaluate('location.hash')).toContain('latency=30&percentile=p99')
    const wrong = await playground.open('#/plan?gpu=nothing.json', complaints)
    expect(await wrong.locator('[role=alert]').textContent()).toContain("unknown board 'nothing.json'")
    // A board of one's own, from its parameters.
    const opened = async (name: string, buffer: Buffer) => {
      await wrong.setInputFiles('input[aria-label="Parameter file"]', { name, mimeType: 'application/json', buffer })
      return wrong.locator(`[role=status]:has-text("${name}")`).textContent()
    }
    const folder = path.resolve(import.meta.dirname, '../../perf-model/params')
    expect(await opened('broken.json', Buffer.from('{'))).toContain('broken.json cannot be used: ')
    expect(await opened('mine.json', readFileSync(path.join(folder, 'A100.json')))).toBe('mine.json is open')
    await wrong.waitForSelector('[data-planned=true] [data-figure=throughput]')
    expect(await wrong.evaluate('location.hash')).toContain('gpu=mine.json')
    expect(complaints).toEqual([])
    await Promise.all([page.close(), wrong.close()])
  })

  it('leaves no old plan beside a wrong cap, and says when a plan may exceed a right one', async () => {
    const complaints: string[] = []
    const page = await playground.open('#/plan?gpu=3080Ti&model=resnet50&cap=200', complaints)
    const cap = page.locator('.slider input[type=text]')
    for (const wrong of ['-5', '', 'x', '0']) {
      await cap.fill('200')
      await page.waitForSelector('[data-planned=true] [data-figure=throughput]')
      expect(await page.locator('.refusal').count()).toBe(0)
      await cap.fill(wrong)
      await page.waitForSelector('[data-planned=true] [role=alert]:has-text("powerCapW")')
      expect(await page.locator('[data-figure], .comparison').count(), wrong).toBe(0)
      expect(await page.locator('.slider .problem').textContent()).toBe('watts above 0')
    }
    await cap.fill('200')
    await page.locator('select:has-text("mean power within the cap")').selectOption('mean')
    await page.waitForSelector('.refusal:has-text("exceeds the cap with probability 0.")')
    expect(await page.locator('pre').first().textContent()).not.toContain('--risk')
    await page.click('button:has-text("Plan for a risk of 5 %")')
    await page.waitForSelector('[data-planned=true]:not(:has(.refusal))')
    expect(await page.locator('pre').first().textContent()).toContain('--risk 0.05')
    expect(complaints).toEqual([])
    await page.close()
  })

  it('has no barrier in light, in dark or on a phone, and nothing to scroll sideways for', async () => {
    const complaints: string[] = []
    const page = await playground.open('#/plan?gpu=A100&model=resnet50,vgg19&cap=180', complaints)
    await page.waitForSelector('[data-planned=true] [data-figure=throughput]')
    await page.waitForSelector('[data-swept=true]')
    for (const summary of await page.locator('summary').all()) await summary.click()
    expect(await barriersEverywhere(page)).toEqual([])
    expect(complaints).toEqual([])
    await page.close()
  })
})
