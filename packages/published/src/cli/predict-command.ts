import { jsonText, type Terminal, UsageError } from '@pctodl/command-line'
import { loadPublishedParameters } from '../predictor/load-published-parameters.js'
import { setName } from '../predictor/published-parameters.js'

export interface PredictOptions {
  readonly params: string
  readonly model: string
  readonly shares: readonly number[]
  readonly batches: readonly number[]
  readonly smClock: number
  readonly memClock?: number
  readonly gpu?: string
  readonly dataset: string
  readonly smSystemStage?: boolean
  readonly oversubscribe?: boolean
  readonly json?: boolean
}

export function predict(options: PredictOptions, { stdout }: Terminal): number {
  const { shares, batches, smClock: smClockMhz, json, gpu: platform, memClock: memFreq, ...selection } = options
  if (shares.length !== batches.length) {
    throw new UsageError(`--shares has ${shares.length} shares, --batches has ${batches.length} batches`)
  }
  const predictor = loadPublishedParameters(options.params).predictor({ ...selection, platform, memFreq })
  const prediction = predictor.predictAll(shares, batches, smClockMhz)
  const { throughput, powerW, smUtilPercent, memUtilPercent } = prediction
  const parameters = setName(predictor.set!)
  stdout.write(
    json
      ? jsonText({ parameters, memClockMhz: predictor.memClockMhz, smClockMhz, prediction })
      : `${parameters}, SM ${smClockMhz} MHz
Throughput       ${throughput.toFixed(2)} samples/s
Power            ${powerW.toFixed(2)} W
SM Utilization   ${smUtilPercent.toFixed(2)} %
MEM Utilization  ${memUtilPercent.toFixed(2)} %
`,
  )
  return 0
}
