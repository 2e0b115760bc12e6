import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nvmlReturnCodes } from '../src/nvml/nvml-error.js'
import { type BuiltChildren, buildChildren } from './built-children.js'
import { missingCompiler, type RunningHost, startHost } from './simulated-host.js'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const readme = read('README.md')

describe('the README', () => {
  it('shows the example as it stands in the file', () => {
    expect(/```ts\n([\s\S]*?)```/.exec(readme)?.[1]).toBe(read('examples/hold-a-clock.ts'))
  })

  it('counts the return codes rightly', () => {
    expect(readme).toContain(`${nvmlReturnCodes.length} return codes`)
  })
})

describe.skipIf(missingCompiler)(`the README's example${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: RunningHost
  let children: BuiltChildren

  beforeAll(async () => {
    const tenants = [{ gpuIndex: 0, model: 'resnet50', mpsPercent: 100, batchSize: 32 }]
    ;[host, children] = await Promise.all([startHost({ tenants }), buildChildren('examples/hold-a-clock.ts')])
  })
  afterAll(async () => {
    children?.remove()
    await host?.stop()
  })

  it('runs, and shows a clock that is held and energy that adds up', async () => {
    const env = { ...process.env, ...host.environment, PCTODL_LEASE_DIR: host.leaseFolder }
    const { stdout } = await promisify(execFile)(process.execPath, [children.file('hold-a-clock')], { env })
    const numbers = /^([\d.]+) W at (\d+) MHz, (\d+) samples\n([\d.]+) J by the counter, ([\d.]+) J by integration\n$/
    const [powerW, clockMhz, samples, counterJ, integralJ] = numbers.exec(stdout)!.slice(1).map(Number)
    expect(samples).toBeGreaterThan(10)
    // The firmware may choose from the range: mostly its top.
    expect(clockMhz).toBeGreaterThan(900)
    expect(clockMhz).toBeLessThanOrEqual(1005)
    expect(powerW).toBeGreaterThan(60)
    // The sensor has an error of some percent, the counter has none here. Power falls within the second, and on a busy machine samples
    // are missing of those that one every 20 ms would be: the integral cannot know what was between.
    const missing = Math.max(0, 1 - samples! / 50)
    expect(Math.abs(integralJ! / counterJ! - 1)).toBeLessThan(0.1 + 0.3 * missing)
  })
})
