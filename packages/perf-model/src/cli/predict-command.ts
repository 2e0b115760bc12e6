import { type CommandFunction, type Terminal, UsageError, writeFileAtomically } from '@pctodl/command-line'
import { findGpuSpec } from '@pctodl/platform'
import { clockChart } from './clock-chart.js'
import { askInstalledGpu } from './installed-gpu.js'
import { loadCharts } from './load-charts.js'
import { type PredictOptions, parsePredictOptions } from './predict-options.js'
import { openEngine, type PredictionEngine } from './prediction-engine.js'
import { formatPrediction } from './prediction-report.js'
import { testOnTraces } from './test-on-traces.js'

/** The command line `pctodl-predict` as a function. */
export const predict: CommandFunction = async (argv, terminal) => {
  const options = await parsePredictOptions(argv, terminal)
  if (options.test !== null) return testOnTraces(options, options.test, terminal)
  const engine = await openEngine(options, await memClock(options, terminal), terminal)
  const smClockMhz = options.f ?? engine.defaultSmClockMhz
  const { model, p, b } = options
  const tenants = p.map((mpsPercent, i) => engine.tenant(model[i] ?? model[0]!, mpsPercent, b[i]!))
  if (engine.domain(tenants, smClockMhz) === null && new Set(tenants.map((tenant) => tenant.model)).size > 1) {
    throw new UsageError("upstream's parameters predict one network at a time; give --model one name")
  }
  const prediction = engine.predict(tenants, smClockMhz)
  const domain = engine.domain(tenants, smClockMhz)
  const { board, memClockMhz, parameters } = engine
  const found = { board, memClockMhz, smClockMhz, parameters, configuration: tenants, prediction, domain }
  terminal.stdout.write(options.json ? `${JSON.stringify(found, null, 2)}\n` : formatPrediction(found))
  if (options.plot !== undefined) await plot(options.plot, engine, tenants, smClockMhz, terminal)
  return 0
}

/** The memory clock asked for, MHz; undefined leaves it to the parameters. */
async function memClock({ memFreq, gpuMemFreq, platform, spec }: PredictOptions, { signal }: Terminal) {
  if (!gpuMemFreq) return memFreq
  const board = platform === undefined ? '' : ` of ${(spec ?? findGpuSpec(platform)).key}`
  return Number(await askInstalledGpu('clocks.mem', `give the memory clock${board} with --mem-clock`, signal))
}

async function plot(
  file: string,
  engine: PredictionEngine,
  tenants: Parameters<PredictionEngine['predict']>[0],
  smClockMhz: number,
  { stderr }: Terminal,
): Promise<void> {
  const charts = await loadCharts()
  const clocks = [...new Set([...engine.smClocksMhz, smClockMhz])].sort((a, b) => a - b)
  const points = clocks.map((clock) => {
    const { throughput, powerW, throughputSd = 0, powerSdW = 0 } = engine.predict(tenants, clock)
    return { smClockMhz: clock, throughput, throughputSd, powerW, powerSdW }
  })
  const names = tenants.map(({ model, mpsPercent, batchSize }) => `${model} ${mpsPercent} % x ${batchSize}`)
  const title = `${names.join(', ')} on ${engine.board}, memory ${engine.memClockMhz} MHz`
  const style = { config: charts.chartConfig, colors: charts.palette }
  writeFileAtomically(file, await charts.renderSvg(clockChart(points, { title, smClockMhz }, style)))
  stderr.write(`written: ${file}\n`)
}
