import { exitCodeOf } from '@pctodl/command-line'
import { referenceFolder } from '@pctodl/reference-data'
import { afterAll, describe, expect, it } from 'vitest'
import { published } from '../src/commands.js'
import { writePublishedFolder } from './published-model.js'

const { folder, remove } = writePublishedFolder()
afterAll(remove)

async function call(...argv: readonly string[]) {
  const said = { stdout: '', stderr: '' }
  const code = await exitCodeOf('pctodl published', published, argv, {
    stdout: { write: (text) => (said.stdout += text) },
    stderr: { write: (text) => (said.stderr += text) },
    signal: new AbortController().signal,
    env: {},
  })
  return { code, ...said }
}

describe('pctodl published predict', () => {
  const usual = ['predict', '--params', folder, '--platform', '3080ti', '--model', 'resnet50']

  it("predicts with the published program's parameters", async () => {
    const { code, stdout } = await call(...usual, '--p', '50', '25', '--b', '16', '16')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^resnet50_imagenet_mem9501, SM 1950 MHz\nThroughput +\d+\.\d\d samples\/s\nPower/)
    const asked = await call(...usual, '--p', '50', '25', '--b', '16', '16', '--json')
    expect(JSON.parse(asked.stdout)).toMatchObject({ memClockMhz: 9501, prediction: { powerW: expect.any(Number) } })
  })

  it('refuses what it cannot predict', async () => {
    const open = [...usual, '--p', '80', '80', '--b', '8', '8']
    expect((await call(...open)).stderr).toContain('sum of shares: got 160')
    expect((await call(...open, '--oversubscribe')).code).toBe(0)
    expect(await call(...usual, '--p', '50', '--b', '8', '8')).toMatchObject({ code: 2 })
    const missing = await call(...usual.with(-1, 'vgg19'), '--p', '50', '--b', '8')
    expect(missing).toMatchObject({ code: 1 })
    expect(missing.stderr).toContain('known: resnet50_imagenet_mem9501')
    expect(await call()).toMatchObject({ code: 2 })
  })
})

describe('pctodl published partition', () => {
  const usual = ['partition', '--model', 'resnet50', '--gpu', '3080Ti', '--p_cap', '200']

  it('searches over the shipped model, and says when it is above the cap', async () => {
    const { code, stdout } = await call(...usual, '--explain', '--mps_step', '25')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `resnet50 on NVIDIA GeForce RTX 3080 Ti, power cap 200 W, published search (standard)
step 1      25 % x 32, 75 % free, SM 1843.8 MHz, memory 9501 MHz, 848.6 samples/s, 200.0 W
step 2      25 % x 32, 50 % free, SM 1570.8 MHz, memory 9501 MHz, 1466.6 samples/s, 199.4 W
step 3      25 % x 64, 25 % free, SM 1252.0 MHz, memory 9501 MHz, 1816.6 samples/s, 200.9 W
step 4      25 % x 32, 0 % free, SM 1475.0 MHz, memory 5001 MHz, 1977.6 samples/s, 199.1 W
tenants     25 % x 32, 25 % x 32, 25 % x 64, 25 % x 32
clocks      SM 1475.000 MHz, memory 5001 MHz
throughput  1977.6 samples/s
power       199.1 W, 0.9 W below the cap
search      90 configurations
`,
    })
    const none = await call(...usual.with(-1, '30'), '--variant', 'vectorized')
    expect(none.code).toBe(1)
    expect(none.stderr).toContain('finds no tenant that keeps 30 W')
    expect(await call(...usual, '--platform', 'abacus')).toMatchObject({ code: 2 })
  })

  it('reproduces the published program from its parameters', async () => {
    const { stdout } = await call(
      ...['partition', '--model', 'resnet50', '--platform', '3080ti', '--p_cap', '170', '--mps_step', '20', '--json'],
      ...['--params', referenceFolder('pctodl-params')],
    )
    const { tenants, smClockMhz, overCap } = JSON.parse(stdout)
    expect(tenants.map((tenant: { batchSize: number }) => tenant.batchSize)).toEqual([32, 96, 96, 16, 128])
    expect(smClockMhz).toBeCloseTo(912.6565354189311, 4)
    expect(overCap).toBe(false)
  })
})
