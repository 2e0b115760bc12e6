import { asUsage, type CommandFunction, type Terminal, writeFileAtomically } from '@pctodl/command-line'
import { type Configuration, smClocksAt } from '@pctodl/platform'
import { networkOf } from '../network-of.js'
import type { PerfModel } from '../perf-model.js'
import { clockChart } from './clock-chart.js'
import { askInstalledGpu } from './installed-gpu.js'
import { loadCharts } from './optional-packages.js'
import { modelOf } from './parameter-folder.js'
import { type PredictOptions, parsePredictOptions } from './predict-options.js'
import { formatPrediction } from './prediction-report.js'
import { testOnTraces } from './test-on-traces.js'

export const predict: CommandFunction = async (argv, terminal) => {
  const options = await parsePredictOptions(argv, terminal)
  const board = options.gpu ?? (await askInstalledGpu('name', 'name the board with --gpu', terminal.signal))
  const load = () => modelOf(board, options.params)
  const predictor = options.params === undefined ? asUsage(load) : load()
  if (options.test !== undefined) return testOnTraces(predictor, options, options.test, terminal)
  const { spec } = predictor
  const memClockMhz = (await memClock(options, spec.key, terminal)) ?? predictor.memClocksMhz[0]!
  const topClockMhz = smClocksAt(spec, memClockMhz)?.at(-1) ?? spec.boostClockMhz
  const { model, shares, batches, params } = options
  const configuration = {
    tenants: shares.map((mpsPercent, i) => ({
      model: networkOf(predictor.networks, model[i] ?? model[0]!),
      mpsPercent,
      batchSize: batches[i]!,
    })),
    smClockMhz: options.smClock ?? Math.min(topClockMhz, spec.boostClockMhz),
    memClockMhz,
  }
  const found = {
    board: spec.key,
    memClockMhz,
    smClockMhz: configuration.smClockMhz,
    parameters: params ?? `shipped, ${predictor.parameters.provenance.source}`,
    configuration: configuration.tenants,
    prediction: predictor.predict(configuration),
    domain: predictor.domain(configuration),
  }
  terminal.stdout.write(options.json ? `${JSON.stringify(found, null, 2)}\n` : formatPrediction(found))
  if (options.plot !== undefined) await plot(options.plot, predictor, configuration, terminal)
  return 0
}

/** Requested memory clock, MHz; if undefined, the first memory clock of the parameters is used. */
async function memClock({ memClock: given, gpuMemFreq }: PredictOptions, board: string, { signal }: Terminal) {
  if (!gpuMemFreq) return given
  return Number(await askInstalledGpu('clocks.mem', `give the memory clock of ${board} with --mem-clock`, signal))
}

async function plot(
  file: string,
  predictor: PerfModel,
  { tenants, smClockMhz, memClockMhz }: Configuration,
  { stderr }: Terminal,
): Promise<void> {
  const charts = await loadCharts()
  const { spec } = predictor
  const clocks = [...new Set([...(smClocksAt(spec, memClockMhz) ?? []), smClockMhz])].sort((a, b) => a - b)
  const points = clocks.map((clock) => {
    const prediction = predictor.predict({ tenants, smClockMhz: clock, memClockMhz })
    const { throughput, throughputSd = 0, powerW, powerSdW = 0 } = prediction
    return { smClockMhz: clock, throughput, throughputSd, powerW, powerSdW }
  })
  const names = tenants.map(({ model, mpsPercent, batchSize }) => `${model} ${mpsPercent} % x ${batchSize}`)
  const title = `${names.join(', ')} on ${spec.key}, memory ${memClockMhz} MHz`
  writeFileAtomically(file, await charts.renderSvg(clockChart(points, { title, smClockMhz }, charts)))
  stderr.write(`written: ${file}\n`)
}
