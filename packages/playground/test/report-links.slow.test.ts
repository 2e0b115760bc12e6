import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { benchRunner } from '@pctodl/bench-runner/commands'
import { exitCodeOf } from '@pctodl/command-line'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { placeOf } from '../site/address/place.js'
import { browserFile, inBrowser, OpenedPlayground } from './open-page.js'

const folder = mkdtempSync(path.join(tmpdir(), 'playground-links-'))
const results = path.join(folder, 'results')
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

async function bench(...argv: readonly string[]) {
  const said = { stdout: '', stderr: '' }
  const code = await exitCodeOf('bench-runner', benchRunner, argv, {
    stdout: { write: (text) => (said.stdout += text) },
    stderr: { write: (text) => (said.stderr += text) },
    signal: new AbortController().signal,
    env: {},
  })
  return { code, ...said }
}

/** What the report of the results links to, tables apart. */
async function linksOf(out: string, ...more: readonly string[]): Promise<string[]> {
  expect(await bench('report', results, '--no-oracle', '--out', out, ...more)).toMatchObject({ code: 0, stderr: '' })
  const page = readFileSync(path.join(out, 'index.html'), 'utf8')
  const links = page.matchAll(/<a href="([^"]*)">playground<\/a>/g)
  return [...links].map(([, href]) => href!.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))))
}

beforeAll(async () => {
  const matrix = '--gpu 3080Ti --task-id 6 --algorithm pctodl,powercap,morak-tuned --iterations 2 --seed 3 --jobs 1'
  expect((await bench(...matrix.split(' '), '--result-dir', results)).code).toBe(0)
})

describe('a report of bench-runner', () => {
  it('links each run that the playground can make to the same board, network, cap, policy, seed and length', async () => {
    const links = await linksOf(path.join(folder, 'a'), '--playground', 'https://lab.example/play/?v=2#/learn')
    const address = 'https://lab.example/play/?v=2'
    expect(links).toHaveLength(2)
    expect(links.every((link) => link.startsWith(`${address}#/run?`))).toBe(true)
    const places = links.map((link) => placeOf(link.slice(address.length)))
    for (const { room, run } of places) {
      expect(room).toBe('run')
      expect(run).toMatchObject({ board: '3080Ti', model: 'resnet50', seed: 3, durationS: 10, disturbances: [] })
      expect(run.caps).toHaveLength(1)
    }
    expect(places.flatMap(({ run }) => run.policies).sort()).toEqual(['pctodl', 'powercap'])
  })

  it('links into an exported playground, from wherever the report lies, and into none that is not there', async () => {
    const out = path.join(folder, 'b', 'report')
    expect(await linksOf(out)).toEqual([])
    const site = path.join(folder, "a play'ground")
    mkdirSync(site)
    const refused = await bench('report', results, '--no-oracle', '--out', out, '--playground', site)
    expect(refused).toMatchObject({ code: 2 })
    expect(refused.stderr).toContain(`pctodl playground --export ${site} writes one`)
    writeFileSync(path.join(site, 'index.html'), '')
    for (const [link] of [
      await linksOf(out, '--playground', site),
      await linksOf(out, '--playground', path.join(site, 'index.html')),
    ]) {
      const target = new URL(link!, pathToFileURL(path.join(out, 'index.html')))
      expect(target.href.split('#')[0]).toBe(pathToFileURL(path.join(site, 'index.html')).href)
    }
    // Beside the report it is found without being named.
    mkdirSync(path.join(out, 'playground'))
    writeFileSync(path.join(out, 'playground', 'index.html'), '')
    expect((await linksOf(out))[0]).toMatch(/^playground\/index\.html#\/run\?gpu=3080Ti&/)
    for (const address of ['javascript:alert(1)', 'http://']) {
      expect(await bench('report', results, '--no-oracle', '--out', out, '--playground', address)).toMatchObject({
        code: 2,
      })
    }
  })

  it.skipIf(browserFile === undefined)(`opens there ${inBrowser}`, async () => {
    const playground = await OpenedPlayground.make()
    try {
      const out = path.join(folder, 'c')
      const [link] = await linksOf(out, '--playground', playground.file)
      const complaints: string[] = []
      const page = await playground.open(new URL(link!, pathToFileURL(`${out}/`)).hash, complaints)
      await page.click('button:has-text("100 ×")')
      await page.waitForSelector('.room[data-over=true] tr[data-over=true]')
      expect(await page.locator('#question').textContent()).toContain(
        'resnet50 fastest under a cap on NVIDIA GeForce RTX 3080 Ti',
      )
      expect(await page.locator('[role=alert]').count()).toBe(0)
      expect(complaints).toEqual([])
    } finally {
      await playground.close()
    }
  })
})
