/**
 * Benchmark of the page: its size, the time until it can be used, the time of a plan and of a sweep, and whether the
 * interface stays responsive while five services run for a minute at the fastest pace. Wall time depends on the load of
 * this machine; CPU time is the work itself. Usage: `tsx --conditions=@pctodl/source bench/page.bench.ts`
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { loadPerfModel } from '@pctodl/perf-model'
import { type Browser, chromium, type Page } from 'playwright-core'
import { buildPage } from '../build-page.js'
import { sweepCaps, sweepPoint } from '../site/plan/cap-sweep.js'
import { answerPlan } from '../site/plan/plan-answer.js'
import { firstPlan } from '../site/plan/plan-question.js'
import { answerServices } from '../site/plan-services/services-answer.js'
import { firstServicesQuestion } from '../site/plan-services/services-question.js'
import { type AskedService, firstServices, usualService } from '../site/services/asked-service.js'
import { wordOfServices } from '../site/services/service-words.js'
import { browserFile } from '../test/open-page.js'

interface Row {
  readonly what: string
  readonly goal: string
  readonly wall: string
  readonly CPU: string
}

const rows: Row[] = []
const ms = (value: number) => `${value.toFixed(0)} ms`
const add = (what: string, goal: string, wall: string, cpu: string) => rows.push({ what, goal, wall, CPU: cpu })

/** Lowest CPU and wall time of some work in this process over a few runs. */
function measured(work: () => void, times = 5): { readonly wallMs: number; readonly cpuMs: number } {
  let best = { wallMs: Infinity, cpuMs: Infinity }
  for (let i = 0; i < times; i++) {
    const [startMs, before] = [performance.now(), process.cpuUsage()]
    work()
    const { user, system } = process.cpuUsage(before)
    best = {
      wallMs: Math.min(best.wallMs, performance.now() - startMs),
      cpuMs: Math.min(best.cpuMs, (user + system) / 1000),
    }
  }
  return best
}

const model = loadPerfModel('A100')
const question = {
  ...firstPlan,
  board: 'A100',
  networks: ['resnet50', 'vgg19'].map((name) => ({ model: name, weight: 1 })),
}
const five: readonly AskedService[] = [
  ...firstServices,
  { ...usualService, name: 'tags', model: 'densenet201', ratePerS: 40, p99Ms: 120 },
  { ...usualService, name: 'vision', model: 'maxvit_t', ratePerS: 20, p99Ms: 180 },
]

function benchAnswers(): void {
  const plan = measured(() => answerPlan(model, question))
  add('plan for two networks', '<= 300 ms', ms(plan.wallMs), ms(plan.cpuMs))
  const sweep = measured(() => {
    for (const cap of sweepCaps(model, question)) sweepPoint(model, question, cap)
  }, 2)
  add('sweep of 40 caps', '<= 2000 ms', ms(sweep.wallMs), ms(sweep.cpuMs))
  for (const objective of ['min-power', 'max-load', 'max-value'] as const) {
    // Services that must be shed are computed where not all requests can be answered.
    const load = objective === 'max-value' ? 4 : 1
    const services = five.map((service) => ({ ...service, ratePerS: load * service.ratePerS }))
    const asked = { ...firstServicesQuestion, board: 'A100', services, objective, powerCapW: load > 1 ? 110 : 200 }
    const { wallMs, cpuMs } = measured(() => answerServices(model, asked), 3)
    add(`plan for five services, ${objective}`, '<= 300 ms', ms(wallMs), ms(cpuMs))
  }
}

/** Time from the start of the navigation until a selector is present, ms. */
async function readyAt(page: Page, address: string, selector: string): Promise<number> {
  await page.addInitScript(`
    new MutationObserver((_, observer) => {
      if (!document.querySelector(${JSON.stringify(selector)})) return
      observer.disconnect()
      globalThis.readyMs = performance.now()
    }).observe(document, { subtree: true, childList: true, attributes: true })
  `)
  await page.goto(address)
  await page.waitForSelector(selector, { state: 'attached', timeout: 120_000 })
  return (await page.evaluate('globalThis.readyMs')) as number
}

async function benchFirstView(browser: Browser, address: string): Promise<void> {
  let best = { wallMs: Infinity, cpuMs: Infinity }
  for (let i = 0; i < 3; i++) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    const wallMs = await readyAt(page, address, '.controls select option')
    const { metrics } = await devtools.send('Performance.getMetrics')
    const cpuMs = 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
    best = { wallMs: Math.min(best.wallMs, wallMs), cpuMs: Math.min(best.cpuMs, cpuMs) }
    await page.close()
  }
  add('first view until it can be used', '<= 1500 ms', ms(best.wallMs), `${ms(best.cpuMs)} (main thread)`)
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const wallMs = await readyAt(page, `${address}#/plan/services`, '[data-planned=true]')
  add('view of a plan with its answer', '-', ms(wallMs), '-')
  await page.close()
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly dur?: number
  /** CPU time of the thread, microseconds. */
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/** The longest tasks of the page's main thread, whatever else the browser has open. */
function tasksOfBusiestPage(events: readonly TraceEvent[]): readonly TraceEvent[] {
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const mains = events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
  const byThread = mains.map((main) =>
    events.filter((event) => /RunTask$/.test(event.name) && event.ph === 'X' && threadOf(event) === threadOf(main)),
  )
  const busy = (tasks: readonly TraceEvent[]) => tasks.reduce((sum, { dur = 0 }) => sum + dur, 0)
  return byThread.sort((a, b) => busy(b) - busy(a))[0] ?? []
}

/**
 * A simulated minute of five services under two policies at the fastest pace: the load of the main thread meanwhile.
 */
async function benchLongTasks(browser: Browser, address: string): Promise<void> {
  const hash = `#/run/services?gpu=A100&services=${wordOfServices(five)}&caps=200&policies=pctodl,equal-shares&seconds=60`
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.addInitScript(`
    globalThis.longTasks = []
    new PerformanceObserver((list) => {
      for (const { startTime, duration } of list.getEntries()) longTasks.push([startTime, duration])
    }).observe({ type: 'longtask', buffered: true })
  `)
  await page.goto(`${address}${hash}`)
  await page.waitForSelector('.uplot canvas')
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'disabled-by-default-lighthouse'] })
  const beganMs = (await page.evaluate('performance.now()')) as number
  await page.click('button:has-text("100 ×")')
  await page.waitForSelector('.room[data-over=true] tr[data-over=true]', { timeout: 600_000 })
  await page.waitForTimeout(300)
  const wallS = ((await page.evaluate('performance.now()')) as number) - beganMs
  const longTasks = (await page.evaluate('longTasks')) as readonly (readonly [number, number])[]
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] }
  await page.close()
  const tasks = tasksOfBusiestPage(traceEvents)
  const walls = tasks.map(({ dur = 0 }) => dur / 1000)
  const cpus = tasks.map(({ tdur = 0 }) => tdur / 1000)
  const over = (list: readonly number[]) => list.filter((value) => value > 50).length
  const seen = longTasks.filter(([startMs]) => startMs >= beganMs).map(([, duration]) => duration)
  add('a minute of five services, two policies, 100 x', '-', `${(wallS / 1000).toFixed(1)} s`, '-')
  add('its longest task of the main thread', '<= 50 ms', ms(Math.max(0, ...walls)), ms(Math.max(0, ...cpus)))
  add(`its tasks above 50 ms, of ${tasks.length}`, '0', `${over(walls)}`, `${over(cpus)}`)
  add(
    'long tasks by the browser',
    '0',
    `${seen.length}${seen.length > 0 ? `, longest ${ms(Math.max(...seen))}` : ''}`,
    '-',
  )
}

console.log(`load of the machine ${loadavg()[0]!.toFixed(1)}`)
const folder = mkdtempSync(path.join(tmpdir(), 'playground-bench-'))
try {
  await buildPage(folder)
  const file = path.join(folder, 'index.html')
  add('first view, gzipped', '<= 250000 bytes', `${gzipSync(readFileSync(file)).length} bytes`, '-')
  benchAnswers()
  if (browserFile === undefined)
    console.log('no Chromium here (Debian package chromium): what needs a browser is left out')
  else {
    const browser = await chromium.launch({ executablePath: browserFile, args: ['--no-sandbox'] })
    try {
      const address = pathToFileURL(file).href
      await benchFirstView(browser, address)
      await benchLongTasks(browser, address)
    } finally {
      await browser.close()
    }
  }
  console.table(rows)
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
