import { readFileSync } from 'node:fs'
import { pctodlRun } from '@pctodl/run/commands'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { policyNames } from '../site/run/run-question.js'
import { barriersEverywhere, browserFile, inBrowser, OpenedPlayground } from './open-page.js'

describe.skipIf(browserFile === undefined)(inBrowser, () => {
  let playground: OpenedPlayground
  beforeAll(async () => {
    playground = await OpenedPlayground.make()
  })
  afterAll(() => playground?.close())

  it('runs policies side by side with the figures of the command line, and opens the records that it saves', async () => {
    const complaints: string[] = []
    const page = await playground.open(
      '#/run?gpu=A100&model=vgg19&caps=180&policies=pctodl,powercap&seconds=40',
      complaints,
    )
    await page.click('button:has-text("100 ×")')
    await page.waitForSelector('.room[data-over=true] tr[data-policy=powercap][data-over=true]')
    const commands = (await page.locator('pre').first().textContent())!.split('\n')
    for (const [i, policy] of ['pctodl', 'powercap'].entries()) {
      let stdout = ''
      await pctodlRun(commands[i]!.split(' ').slice(3), {
        stdout: { write: (text) => (stdout += text) },
        stderr: { write: () => {} },
        signal: new AbortController().signal,
        env: {},
      })
      const figure = (name: string) => page.locator(`tr[data-policy=${policy}] [data-figure=${name}]`).textContent()
      expect(stdout).toContain(`throughput       ${await figure('throughput')}\n`)
      expect(stdout).toContain(`above the cap    ${await figure('violation')} of the time`)
      expect(stdout).toContain(`longest above    ${await figure('longest')}\n`)
      expect(stdout).toContain(`cap used         ${await figure('used')} in steady state`)
      expect(stdout).toContain(`energy           ${await figure('energy')} a sample`)
    }
    const saved = page.waitForEvent('download')
    await page.click('button[aria-label="Save the record of pctodl"]')
    const file = await (await saved).path()
    expect(readFileSync(file, 'utf8')).toMatch(/^\{"timeMs":0,"type":"run-start"[^\n]*\n[\s\S]*"outcome":"done"\}\n$/)
    await page.click('summary:has-text("Show an earlier run")')
    await page.setInputFiles('input[aria-label="Records of runs"]', file)
    await page.waitForSelector('tr[data-policy=pctodl] >> nth=1')
    expect(await page.locator('tr[data-policy=pctodl] [data-figure=throughput]').allTextContents()).toEqual(
      new Array(2).fill(await page.locator('tr[data-policy=pctodl] [data-figure=throughput]').first().textContent()),
    )
    expect(await barriersEverywhere(page)).toEqual([])
    // Any policy can be chosen, and one stays.
    const offered = await page.locator('.network span:has(> .aside)').allTextContents()
    expect(offered.map((text) => text.split(' ')[0])).toEqual(policyNames)
    await page.locator('.network input:checked').last().uncheck()
    await page.waitForURL(/policies=pctodl(&|$)/)
    expect(await page.locator('.network input:checked').isDisabled()).toBe(true)
    expect(complaints).toEqual([])
    await page.close()
  })

  it('does to the board what somebody wants, and keeps it in the address', async () => {
    const complaints: string[] = []
    const page = await playground.open(
      '#/run?gpu=3080Ti&model=resnet50&caps=200&policies=pctodl&seconds=120',
      complaints,
    )
    // Paused at the beginning, no process has loaded.
    await page.click('button:has-text("pause")')
    await page.click('button:has-text("Start over")')
    await page.waitForSelector('.tenants-now:text-is("at 0 s: processes load")')
    await page.click('button:has-text("1 ×")')
    // The processes have loaded, and a window has passed.
    await page.waitForSelector('.tenants-now:has-text("batch")')
    await page.click('button:has-text("pause")')
    await page.click('button:has-text("kill a process")')
    await page.locator('.slider input[type=range]').fill('170')
    await page.waitForURL(/caps=200,170@[\d.]+&.*events=kill@[\d.]+/)
    await page.click('button:has-text("100 ×")')
    await page.waitForSelector('.room[data-over=true] tr[data-over=true]')
    const live = await page.locator('.decisions').textContent()
    expect(live).toContain('a process failed')
    expect(live).toContain('cap 170 W')
    const times = (await page.locator('.decisions .aside').allTextContents()).map(Number.parseFloat)
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    const figures = (shown: typeof page) => shown.locator('tr[data-policy=pctodl] td').allTextContents()
    // The same again, from the address alone.
    const again = await playground.open(new URL(page.url()).hash, complaints)
    await again.click('button:has-text("100 ×")')
    await again.waitForSelector('.room[data-over=true] tr[data-over=true]')
    expect(await figures(again)).toEqual(await figures(page))
    // The next run begins with the first cap of the schedule.
    expect(await again.locator('.slider input[type=range]').inputValue()).toBe('200')
    await again.close()
    await page.click('button:has-text("Remove all changes")')
    await page.waitForURL((address) => !address.hash.includes('kill'))
    expect(complaints).toEqual([])
    await page.close()
  })
})
