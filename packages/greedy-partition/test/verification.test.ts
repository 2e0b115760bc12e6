import { gpuSpecs } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { verificationCommand } from '../src/cli/report.js'

const spec = gpuSpecs['A100']!
const tenant = { model: 'vgg19', mpsPercent: 40, batchSize: 8 }
const of = (...tenants: (typeof tenant)[]) =>
  verificationCommand(spec, { tenants, smClockMhz: 1005, memClockMhz: 1215 })

describe('the command that measures a plan', () => {
  it('is of one network, with the share and batch of each of its tenants', () => {
    const command = (shares: string, batches: string) =>
      `pctodl profile --backend sim --gpu A100 --model vgg19 --single --shares ${shares} --batches ${batches} --sm-clock 1005 --mem-clock 1215`
    expect(of(tenant)).toBe(command('40', '8'))
    expect(of(tenant, { ...tenant, mpsPercent: 60, batchSize: 16 })).toBe(command('40,60', '8,16'))
  })

  it('is none for several networks, or for no tenant', () => {
    expect([of(tenant, { ...tenant, model: 'resnet50' }), of()]).toEqual([null, null])
  })
})
