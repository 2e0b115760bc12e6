import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { exitCodeOf, type Terminal } from '@pctodl/command-line'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { benchRunner } from '../src/main.js'

const folder = mkdtempSync(path.join(tmpdir(), 'bench-report-'))
const browserFile = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

async function call(...argv: string[]) {
  const written = { stdout: '', stderr: '' }
  const into = (name: keyof typeof written) => ({
    write: (text: string) => {
      written[name] += text
    },
  })
  const terminal: Terminal = {
    stdout: into('stdout'),
    stderr: into('stderr'),
    signal: new AbortController().signal,
    env: {},
  }
  return { code: await exitCodeOf('bench-runner', benchRunner, argv, terminal), ...written }
}

beforeAll(async () => {
  const matrix = '--gpu all --task-id 6 13 20 --algorithm pctodl,batchdvfs,powercap --iterations 8 --seeds 2 --jobs 1'
  expect((await call(...matrix.split(' '), '--result-dir', folder)).code).toBe(0)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('bench-runner report', () => {
  it('writes page, Markdown, tables and pictures, with oracle, intervals, cost and what was excluded', async () => {
    const { code, stdout } = await call('report', folder, '--pictures', '--json')
    expect(code).toBe(0)
    const { files } = JSON.parse(stdout) as { files: string[] }
    for (const file of files) expect(existsSync(file), file).toBe(true)
    expect(files.map((file) => path.extname(file))).toEqual(
      expect.arrayContaining(['.html', '.md', '.csv', '.svg', '.png']),
    )
    const markdown = readFileSync(path.join(folder, 'report/report.md'), 'utf8')
    expect(markdown).toMatch(/### Task 6: resnet50 on imagenet, 130 W, oracle \d+ images\/s/)
    expect(markdown).toMatch(/\| pctodl \| [\d.]+ \| \+-[\d.]+ \| [\d.]+ \|/)
    expect(markdown).toContain('0.15 USD and 0.48 kg CO2 per kWh')
    expect(markdown).toMatch(/## Excluded\n\n- task 6 on 3080Ti, batchdvfs: enters no ratio: in \d of 2 runs/)
    const [head, ...rows] = readFileSync(path.join(folder, 'report/tasks.csv'), 'utf8').trim().split('\n')
    expect(head!.split(',').slice(0, 7)).toEqual([
      'board',
      'task',
      'model',
      'dataset',
      'cap_w',
      'oracle_images_per_s',
      'algorithm',
    ])
    expect(rows).toHaveLength(9)
  })

  it('answers a folder without results with a line', async () => {
    expect(await call('report', path.join(folder, 'nowhere'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no such folder'),
    })
    const empty = mkdtempSync(path.join(tmpdir(), 'bench-empty-'))
    expect(await call('report', empty)).toMatchObject({ code: 1, stderr: expect.stringContaining('no finished runs') })
    rmSync(empty, { recursive: true })
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
        await page.goto(pathToFileURL(path.join(folder, 'report/index.html')).href)
        await page.waitForSelector('figure[data-chart="3080Ti_matrix"][data-drawn="done"] svg')
        expect(await page.locator('figure svg').count()).toBe(1)
        await page.locator('details.task summary').first().press('Enter')
        await page.waitForSelector('details.task figure[data-drawn="done"] svg')
        const rows = page.locator('tr[data-algorithm="batchdvfs"]:visible')
        expect(await rows.count()).toBeGreaterThan(0)
        await page.uncheck('input[name=algorithm][value=batchdvfs]')
        expect(await rows.count()).toBe(0)
        await page.uncheck('input[name=board][value=A100]')
        expect(await page.locator('section[data-board=A100]').isVisible()).toBe(false)
        const screenshot = process.env['PCTODL_SCREENSHOT']
        if (screenshot) await page.screenshot({ path: screenshot, fullPage: true })
        await page.emulateMedia({ colorScheme: 'dark' })
        if (screenshot) await page.screenshot({ path: screenshot.replace('.png', '-dark.png'), fullPage: true })
        await page.emulateMedia({ media: 'print' })
        expect(await page.locator('#filters').isVisible()).toBe(false)
        expect(complaints).toEqual([])
      })
    },
  )
})
