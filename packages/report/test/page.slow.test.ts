import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ReportedRun, reportContent, summarizeRun, textReport, writeReport } from '../src/index.js'
import { fixedSetting, type Setting, syntheticRuns } from './synthetic-runs.js'

const folder = mkdtempSync(path.join(tmpdir(), 'report-page-'))
const browserFile = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** Two tasks on one board, one on another. */
const settings: readonly Setting[] = [
  { ...fixedSetting, board: '3080Ti', taskId: 6 },
  { ...fixedSetting, board: '3080Ti', taskId: 13, schedule: [{ atMs: 0, powerCapW: 150 }] },
  { ...fixedSetting, board: 'A100', taskId: 20 },
]

const runs = settings.flatMap((setting) =>
  syntheticRuns(setting).map((record): ReportedRun => {
    const { board, taskId: id, model, dataset } = setting
    const capsW = setting.schedule.map(({ powerCapW }) => powerCapW)
    return {
      task: { board, id, model, dataset, capsW, stem: `${board}_${id}` },
      summary: summarizeRun(record),
      repetition: 1,
      record: () => record,
      recordFile: path.join(folder, '../a folder', `${board}_${id}.record.json`),
      madeBy: 'a test',
    }
  }),
)

const content = reportContent({
  runs,
  failures: [{ task: { board: 'A100', id: 21 }, algorithm: 'pctodl', message: 'no <such> board' }],
  oracle: { throughput: ({ id }) => (id === 6 ? 1000 : null), explanation: 'The oracle is a made-up one.' },
})

beforeAll(async () => {
  await writeReport(content, folder, { pictures: true })
})

describe('a report', () => {
  it('is a page, Markdown, tables and pictures', () => {
    const markdown = readFileSync(path.join(folder, 'report.md'), 'utf8')
    expect(markdown).toContain('### Task 6: resnet50 on imagenet, 3080Ti, 180 W, oracle 1000 images/s')
    expect(markdown).toContain('- The oracle is a made-up one.')
    expect(markdown).toContain('Power: true power of the simulated board')
    expect(markdown).toContain('- task 21 on A100, pctodl: has no result: no &lt;such> board')
    for (const [, picture] of markdown.matchAll(/\]\((charts\/[^)]+)\)/g)) {
      expect(existsSync(path.join(folder, picture!)), picture).toBe(true)
      expect(existsSync(path.join(folder, picture!.replace('.svg', '.png')))).toBe(true)
    }
    expect([...markdown.matchAll(/\]\(charts\//g)]).toHaveLength(4) // three tasks, and the matrix of the board with two
    const page = readFileSync(path.join(folder, 'index.html'), 'utf8')
    expect(page).toContain('no &#60;such&#62; board')
    const rows = readFileSync(path.join(folder, 'tasks.csv'), 'utf8').trim().split('\n')
    expect(rows).toHaveLength(1 + 3 * 5)
  })

  it('leaves the oracle out where there is none, and says whose power it is', () => {
    const bySensor = runs
      .slice(0, 5)
      .map((run) => ({ ...run, summary: { ...run.summary, powerSource: 'sensor' as const } }))
    const report = reportContent({ runs: bySensor })
    expect([...report.charts.keys()]).toEqual(['3080Ti_6'])
    const text = JSON.stringify(report.sections)
    expect(text).toContain("Power: readings of the board's sensor.")
    expect(text).not.toContain('oracle')
  })

  it('draws every algorithm of a task, also one whose first run failed', () => {
    const [first, second] = runs as [ReportedRun, ReportedRun]
    const again = { ...second, repetition: 2 }
    const report = reportContent({ runs: [{ ...first, repetition: 2 }, first, again] })
    expect(report.charts.get('3080Ti_6')!()).toMatchObject({
      usermeta: { strips: expect.arrayContaining([first.summary.algorithm, second.summary.algorithm]) },
    })
  })

  it('explains only what its tables show', () => {
    const explained = (of: readonly ReportedRun[]) => textReport(reportContent({ runs: of }))
    const [first, ...others] = runs.slice(0, 5)
    expect(explained([first!, ...others])).not.toMatch(/services|several boards/)
    expect(explained([first!, { ...first!, repetition: 2 }, ...others])).toContain('means over several boards')
    expect(explained([first!])).toMatch(/\|\n\+-.*-\+$/)
    const oracleOf = (throughput: number | null) =>
      textReport(reportContent({ runs: [first!], oracle: { throughput: () => throughput, explanation: 'By search.' } }))
    expect(oracleOf(null)).not.toContain('By search.')
    expect(oracleOf(2000)).toContain('By search.')
  })

  describe.skipIf(browserFile === undefined)(
    browserFile === undefined ? 'in a browser (skipped: no Chromium; Debian package chromium)' : 'in a browser',
    () => {
      let browser: Browser
      beforeAll(async () => {
        browser = await chromium.launch({ executablePath: browserFile!, args: ['--no-sandbox'] })
      })
      afterAll(() => browser.close())

      it('draws its charts from disk without a network or an error, and filters', async () => {
        const page = await browser.newPage({ viewport: { width: 1300, height: 1000 } })
        const complaints: string[] = []
        page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
        page.on('pageerror', (error) => complaints.push(String(error)))
        page.on('request', (request) => {
          if (!request.url().startsWith('file:') && !request.url().startsWith('data:')) complaints.push(request.url())
        })
        await page.goto(pathToFileURL(path.join(folder, 'index.html')).href)
        await page.waitForSelector('figure[data-chart="3080Ti_matrix"][data-drawn="done"] svg')
        expect(await page.locator('figure svg').count()).toBe(1)
        await page.locator('details.task summary').first().press('Enter')
        await page.waitForSelector('details.task figure[data-drawn="done"] svg')
        const rows = page.locator('tr[data-algorithm="batchdvfs"]:visible')
        expect(await rows.count()).toBeGreaterThan(0)
        const matrix = page.locator('figure[data-chart="3080Ti_matrix"]')
        const bars = () =>
          matrix
            .locator('path[aria-roledescription="bar"]')
            .evaluateAll((all) => all.map((bar) => bar.getAttribute('aria-label')!))
        expect(await bars()).toHaveLength(10)
        await page.uncheck('input[name=algorithm][value=batchdvfs]')
        expect(await rows.count()).toBe(0)
        await matrix.locator('text=batchdvfs').waitFor({ state: 'detached' })
        const left = await bars()
        expect(left).toHaveLength(8)
        // Still beside the tasks that they are of, and in their colours.
        const tops = await matrix
          .locator('path[aria-roledescription="bar"]')
          .evaluateAll((all) => all.map((bar) => Math.round(bar.getBoundingClientRect().top)))
        expect(new Set(tops).size).toBe(8)
        expect(await matrix.locator('path[aria-label*="pctodl"][fill="#0072B2"]').count()).toBe(2)
        const strips = page.locator('details.task[open] figure')
        await strips.locator('text=batchdvfs').first().waitFor({ state: 'detached' })
        expect(await strips.locator('text=morak').count()).toBeGreaterThan(0)
        expect(await strips.locator('text=/^Power, average over 1 s/').count()).toBe(1)
        const link = page.locator('details.task[open] .records a').first()
        expect(await link.getAttribute('href')).toBe('../a%20folder/3080Ti_6.record.json')
        await page.uncheck('input[name=board][value=A100]')
        expect(await page.locator('section[data-board=A100]').isVisible()).toBe(false)
        const screenshot = process.env['PCTODL_SCREENSHOT']
        if (screenshot) await page.screenshot({ path: screenshot, fullPage: true })
        await page.emulateMedia({ colorScheme: 'dark' })
        await matrix
          .locator('svg[style*="rgb(22, 24, 27)"], svg rect[fill="#16181b"], svg path[fill="#16181b"]')
          .first()
          .waitFor({ state: 'attached' })
        if (screenshot) await page.screenshot({ path: screenshot.replace('.png', '-dark.png'), fullPage: true })
        await page.emulateMedia({ media: 'print' })
        expect(await page.locator('#filters').isVisible()).toBe(false)
        // What is closed stays at home.
        expect(await page.locator('details.task:not([open])').first().isVisible()).toBe(false)
        expect(complaints).toEqual([])
      })
    },
  )
})
