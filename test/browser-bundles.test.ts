import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { type BuildResult, build } from 'esbuild'
import { describe, expect, it } from 'vitest'

/** The cores: what they are for works on numbers alone, so that a page can have it. */
const cores = [
  '@pctodl/platform',
  '@pctodl/numerics',
  '@pctodl/traffic',
  '@pctodl/gpu-sim',
  '@pctodl/perf-model',
  '@pctodl/perf-model/serving',
  '@pctodl/greedy-partition',
  '@pctodl/greedy-partition/services',
  '@pctodl/thermo-dvfs',
  '@pctodl/scheduler',
  '@pctodl/baselines',
  '@pctodl/report/evaluate',
  '@pctodl/bench-runner/server',
  '@pctodl/resource-sensitivity/engine',
]

/** Bundle a program as a page would: whatever imports `node:` or a Node-only library cannot be resolved. */
function bundle(program: string): Promise<BuildResult<{ write: false; metafile: true }>> {
  return build({
    stdin: { contents: program, resolveDir: path.resolve(import.meta.dirname, '..'), loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['@pctodl/source'],
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
}

describe('in a browser', () => {
  it.each(cores)('%s needs nothing of Node', async (name) => {
    const { metafile } = await bundle(`export * from '${name}'`)
    const [output] = Object.values(metafile.outputs)
    const used = Object.entries(output!.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    const files = used.map(([file]) => file)
    expect(files.some((file) => file.startsWith('packages/'))).toBe(true)
    expect(files.filter((file) => file.includes('node_modules'))).toEqual([])
  })

  it('the predictor with one board is small', async () => {
    const { outputFiles } = await bundle(`
      import { PerfModel } from '@pctodl/perf-model'
      import a100 from '@pctodl/perf-model/params/A100.json'
      export const model = PerfModel.load(a100)
    `)
    expect(gzipSync(outputFiles[0]!.contents).length).toBeLessThan(60_000)
    const loaded = await import(
      `data:text/javascript;base64,${Buffer.from(outputFiles[0]!.contents).toString('base64')}`
    )
    const tenants = [{ model: 'resnet50', mpsPercent: 50, batchSize: 16 }]
    const { powerW } = loaded['model'].predict({ tenants, smClockMhz: 1410, memClockMhz: 1215 })
    expect(powerW).toBeGreaterThan(50)
  })

  it('what does need Node is seen', async () => {
    await expect(bundle(`export * from '@pctodl/perf-model/node'`)).rejects.toThrow('node:fs')
  })
})
