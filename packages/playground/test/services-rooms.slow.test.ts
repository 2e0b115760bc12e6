import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { benchRunner } from '@pctodl/bench-runner/commands'
import type { CommandFunction } from '@pctodl/command-line'
import { pctodlPartition } from '@pctodl/greedy-partition/commands'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { barriersEverywhere, browserFile, inBrowser, OpenedPlayground } from './open-page.js'

const folder = mkdtempSync(path.join(tmpdir(), 'playground-rooms-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What a command of the page says, with the file of the page. */
async function said(command: CommandFunction, words: string, file: string, ...more: readonly string[]) {
  const place = path.join(folder, 'services.yaml')
  writeFileSync(place, file)
  const argv = words
    .trim()
    .split(/\s+/)
    .slice(3)
    .map((word) => (word === 'services.yaml' ? place : word))
  let stdout = ''
  let stderr = ''
  await command([...argv, ...more], {
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

  it('plans for services with the figures of the command line', async () => {
    const complaints: string[] = []
    const page = await playground.open('#/plan', complaints)
    await page.click('nav a:has-text("Services")')
    const written = (i: number) => page.locator('pre').nth(i).textContent()
    const compare = async () => {
      await page.waitForSelector('[data-planned=true] [data-figure=power]')
      const answer = await said(pctodlPartition, (await written(1))!, (await written(0))!)
      const figure = (name: string) => page.locator(`.figures [data-figure=${name}]`).textContent()
      expect(answer).toContain(`power       ${await figure('power')} W, `)
      const [sm, memory] = (await figure('clocks'))!.split(' / ')
      expect(answer).toContain(`clocks      SM ${sm} MHz, memory ${memory} MHz`)
      for (const row of await page.locator('table.tenants tbody tr').all()) {
        const of = (name: string) => row.locator(`[data-figure=${name}]`).textContent()
        const columns = ['processes', 'share', 'batch', 'rate', 'p99', 'objective', 'attainment'] as const
        const figures = await Promise.all(columns.map(of))
        const name = await row.getAttribute('data-service')
        expect(answer.replace(/ +/g, ' ')).toMatch(new RegExp(`^ ${name} \\S+ ${figures.join(' ')} $`, 'm'))
      }
      return answer
    }
    await compare()
    const attained = await page.locator('tr [data-figure=attainment]').allTextContents()
    const worst = await page.locator('.figures [data-figure=attainment]').textContent({ timeout: 5000 })
    expect(Number(worst)).toBeCloseTo(Math.min(...attained.map(Number.parseFloat)), 0)
    const bound = /no plan is more than (\d+) % better/.exec((await page.locator('.figures').textContent())!)
    if (bound) expect(Number(bound[1])).toBeLessThan(100)
    // By the keyboard: a rate, another goal, one more service.
    await page.locator('input[aria-label="Requests/s of search"]').fill('250')
    await page.waitForURL(/services=search:resnet50:250:40,/)
    await page.locator('select:has-text("the lowest power")').selectOption('max-load')
    await page.waitForSelector('[data-planned=true] [data-figure=load]')
    expect(await compare()).toContain(
      `load        ${await page.locator('[data-figure=load]').textContent()} of the rates`,
    )
    await page.locator('button:has-text("Add a service")').press('Enter')
    await page.locator('input[aria-label="Name of service 4"]').fill('<b>&')
    await page.waitForSelector('[data-planned=true] tr[data-service="<b>&"]')
    await compare()
    // What makes no sense is said and not taken over.
    await page.locator('input[aria-label="Requests/s of search"]').fill('-3')
    expect(await page.locator('.asked-services .problem').allTextContents()).toEqual(['0 to 1000000'])
    await page.locator('input[aria-label="Requests/s of search"]').fill('250')
    await page.waitForSelector('[data-compared=true] [data-manner=equal-shares]')
    // The length of each bar is proportional to its figure.
    const bars = await Promise.all(
      (await page.locator('.comparison tbody tr').all()).map(async (row) => [
        Number(await row.locator('[data-figure=score]').textContent()),
        (await row.locator('.bar').boundingBox())!.width,
      ]),
    )
    expect(await page.locator('.comparison tbody tr').first().textContent()).toMatch(/ W\d+\.\d mJ\d+ \/ \d+$/)
    for (const [score, width] of bars) expect(width! / bars[0]![1]!).toBeCloseTo(score! / bars[0]![0]!, 1)
    expect(await barriersEverywhere(page)).toEqual([])
    await page.click('button:has-text("Run these services under this cap")')
    await page.waitForURL(/#\/run\/services\?gpu=3080Ti&services=search:resnet50:250:40,/)
    expect(complaints).toEqual([])
    await page.close()
  })

  it('says why there is no plan, as the command line does, and what would help', async () => {
    const complaints: string[] = []
    const page = await playground.open('#/plan/services?services=a:vgg19:900:60,b:maxvit_t:200:200&cap=120', complaints)
    const refusal = (await page.locator('[role=alert]').textContent())!
    const written = (i: number) => page.locator('pre').nth(i).textContent()
    expect(await said(pctodlPartition, (await written(1))!, (await written(0))!)).toContain(refusal)
    await page.click('button:has-text("Find the highest load of this mix")')
    await page.waitForSelector('[data-planned=true] [data-figure=load]')
    expect(await page.evaluate('location.hash')).toContain('objective=max-load')
    expect(complaints).toEqual([])
    await page.close()
  })

  it('runs services side by side with the figures of the command line', async () => {
    const complaints: string[] = []
    const page = await playground.open(
      '#/run/services?gpu=A100&task=pair-at-night&policies=latency-governor,equal-shares',
      complaints,
    )
    await page.click('button:has-text("100 ×")')
    await page.waitForSelector('.room[data-over=true] tr[data-policy=latency-governor][data-over=true]')
    const command = (await page.locator('pre').first().textContent())!
    const answer = await said(benchRunner, command, '', '--result-dir', folder)
    for (const policy of ['latency-governor', 'equal-shares']) {
      const figure = (name: string) => page.locator(`tr[data-policy=${policy}] [data-figure=${name}]`).textContent()
      const row = answer.split('\n').find((line) => line.startsWith(`| ${policy} `))!
      const [, , perS, , attainment, shed, meanW, , , , joules] = row.split('|').map((cell) => cell.trim())
      expect(await figure('in-time')).toBe(Number(perS).toFixed(0))
      expect(await figure('attainment')).toBe(attainment)
      expect(await figure('shed')).toBe(shed)
      expect(await figure('power')).toBe(meanW)
      expect(await figure('energy')).toBe((1000 * Number(joules)).toFixed(1))
    }
    expect(await barriersEverywhere(page)).toEqual([])
    expect(complaints).toEqual([])
    await page.close()
  })

  it.each(['', '#/run', '#/plan', '#/plan/services'])(
    'shows question, slider and picture on the first screen of a phone: %s',
    async (hash) => {
      const complaints: string[] = []
      const page = await playground.open(hash, complaints, { viewport: { width: 390, height: 844 } })
      for (const part of ['#question', '.slider input[type=range]', '.front :is(canvas, .comparison)']) {
        const box = (await page.locator(part).first().boundingBox())!
        expect(box.y + box.height, part).toBeLessThanOrEqual(844)
      }
      expect(await page.evaluate('location.hash')).toMatch(hash === '' ? /^#\/run\/services\?/ : hash)
      expect(complaints).toEqual([])
      await page.close()
    },
  )

  it('takes a burst into the address while it runs', async () => {
    const complaints: string[] = []
    const page = await playground.open(
      '#/run/services?services=a:mobilenet_v2:60:80&caps=200&policies=equal-shares&seconds=20',
      complaints,
    )
    await page.click('button:has-text("1 ×")')
    await page.waitForSelector('.tenants-now:has-text("batch")')
    await page.click('button:has-text("burst of requests")')
    await page.waitForURL(/events=burst@[\d.]+$/)
    await page.click('button:has-text("100 ×")')
    await page.waitForSelector('.room[data-over=true] tr[data-over=true]')
    const figures = (shown: typeof page) => shown.locator('tr[data-policy=equal-shares] td').allTextContents()
    const again = await playground.open(new URL(page.url()).hash, complaints)
    await again.click('button:has-text("100 ×")')
    await again.waitForSelector('.room[data-over=true] tr[data-over=true]')
    expect(await figures(again)).toEqual(await figures(page))
    expect(complaints).toEqual([])
    await Promise.all([page.close(), again.close()])
  })
})
