import { networkNames } from '@pctodl/platform'
import { goldenJson } from '@pctodl/reference-data'
import { describe, expect, it } from 'vitest'
import { publishedBatchDvfsFigures, publishedMorakFigures } from '../src/network-figures.js'

interface Config {
  readonly folder: string
  readonly variant: string
  readonly gpuResourcesPct: readonly number[]
  readonly batchSizes: readonly number[]
  readonly sloMs: number
  readonly alpha: number
  readonly beta: number
}

const folders: Readonly<Record<string, string>> = {
  mnasnet1_0: 'mnasnet',
  maxvit_t: 'maxvit',
  mobilenet_v2: 'mobilenetv2',
}

describe('published figures', () => {
  const configs: readonly Config[] = goldenJson('pctodl/model_configs.json').configs
  const of = (network: string, variant: string): Config =>
    configs.find((config) => config.folder === (folders[network] ?? network) && config.variant === variant)!

  it.each(networkNames)('are those of the configuration files for %s', (network) => {
    const morak = of(network, 'morak')
    expect(publishedMorakFigures[network]).toEqual({
      sloMs: morak.sloMs,
      alpha: morak.alpha,
      belta: morak.beta,
      sharesPercent: morak.gpuResourcesPct,
      batchLadder: morak.batchSizes,
    })
    const { alpha, batchSizes } = of(network, 'batchdvfs')
    expect(publishedBatchDvfsFigures[network]).toEqual({ alpha, batchLadder: batchSizes })
  })
})
