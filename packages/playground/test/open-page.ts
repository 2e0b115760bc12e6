import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { buildPage } from '../build-page.js'

/** A Chromium of this machine; undefined where there is none. */
export const browserFile: string | undefined = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((file) => existsSync(file))

export const inBrowser: string =
  browserFile === undefined ? 'in a browser (skipped: no Chromium; Debian package chromium)' : 'in a browser'

/** The page of these sources, in a browser, opened as a file. */
export class OpenedPlayground {
  readonly file: string
  readonly #folder: string
  readonly #browser: Browser

  private constructor(folder: string, browser: Browser) {
    this.#folder = folder
    this.file = path.join(folder, 'index.html')
    this.#browser = browser
  }

  static async make(): Promise<OpenedPlayground> {
    const folder = mkdtempSync(path.join(tmpdir(), 'playground-'))
    await buildPage(folder)
    return new OpenedPlayground(folder, await chromium.launch({ executablePath: browserFile!, args: ['--no-sandbox'] }))
  }

  /** @param complaints what the browser finds wrong, and every address that it asks for beside the page */
  async open(hash: string, complaints: string[], options: BrowserContextOptions = {}): Promise<Page> {
    const page = await this.#browser.newPage({ viewport: { width: 1280, height: 900 }, bypassCSP: false, ...options })
    page.setDefaultTimeout(120_000)
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('request', (request) => {
      if (!/^(file|data|blob):/.test(request.url())) complaints.push(request.url())
    })
    await page.goto(this.address(hash))
    return page
  }

  /** Where an open page goes without being loaded anew, as when its address is typed over. */
  address(hash: string): string {
    return `${pathToFileURL(this.file).href}${hash}`
  }

  async close(): Promise<void> {
    await this.#browser.close()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Elements whose label is not there, which axe leaves to a person, and charts whose axes have no room for their numbers. */
const unnamedOrCut = `[
  ...[...document.querySelectorAll('[aria-labelledby], [aria-describedby]')].filter((element) =>
    ['aria-labelledby', 'aria-describedby'].some((attribute) =>
      (element.getAttribute(attribute) ?? '').split(' ').some((id) => id !== '' && document.getElementById(id) === null),
    ),
  ),
  ...[...document.querySelectorAll('.u-wrap')].filter((chart) => {
    const [outer, inner] = [chart, chart.querySelector('.u-over')].map((part) => part.getBoundingClientRect())
    return outer.bottom - inner.bottom < 40 || inner.left - outer.left < 60
  }),
].map((element) => 'label or axis: ' + element.outerHTML.slice(0, 160))`

/** What axe finds on the page in light, in dark and at the width of a phone, and whether anything is wider than that. */
export async function barriersEverywhere(page: Page): Promise<string[]> {
  const found: string[] = []
  found.push(...((await page.evaluate(unnamedOrCut)) as string[]))
  // As a tool of the browser, which the page's own policy does not concern.
  await page.evaluate(readFileSync(axe, 'utf8'))
  const look = async (how: string, rules?: readonly string[]) => {
    const asked = JSON.stringify(rules === undefined ? {} : { runOnly: rules })
    const { violations } = (await page.evaluate(`axe.run(${asked})`)) as {
      readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
    }
    for (const { id, nodes } of violations) {
      found.push(...nodes.map(({ html }) => `${how}: ${id}: ${html.slice(0, 160)}`))
    }
    if (await page.evaluate('document.documentElement.scrollWidth > innerWidth')) found.push(`${how}: too wide`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await look('light')
  await page.emulateMedia({ colorScheme: 'dark' })
  // Nothing but colours is different.
  await look('dark', ['color-contrast'])
  await page.setViewportSize({ width: 390, height: 844 })
  await look('phone')
  return found
}
