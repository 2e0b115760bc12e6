import type { Detection } from '@pctodl/backend'
import { describe, expect, it } from 'vitest'
import { settlePlace } from '../src/settle-place.js'

const board = (index: number, name: string, key: string | null) => ({ index, name, key, uuid: `GPU-${index}` })
const nothing: Detection = { gpus: [], notes: ['no NVIDIA driver library was found'] }
const a100: Detection = { gpus: [board(0, 'NVIDIA A100-PCIE-40GB', 'A100')], notes: [] }
const t4AndA100: Detection = { gpus: [board(0, 'Tesla T4', 'T4'), ...a100.gpus], notes: [] }
const t4: Detection = { gpus: [board(0, 'Tesla T4', 'T4')], notes: [] }

const settle = (call: { gpu?: string; backend: 'auto' | 'sim' | 'nvml' }, found: Detection) =>
  settlePlace({ executor: 'local', ...call }, () => found)

describe('where the matrix runs', () => {
  it('looks at no driver where a simulated board is named', () => {
    const detect = (): Detection => {
      throw new Error('looked')
    }
    expect(settlePlace({ gpu: 'rtx 3080 ti,A100', backend: 'sim', executor: 'local' }, detect)).toEqual({
      boards: ['3080Ti', 'A100'],
      isReal: false,
    })
  })

  it('leaves it to the nodes of a cluster whether they have the board', () => {
    const onCluster = { gpu: 'A100', backend: 'nvml', executor: 'slurm' } as const
    expect(settlePlace(onCluster, () => nothing)).toEqual({ boards: ['A100'], isReal: true })
  })

  it('takes the board of this machine where none is named', () => {
    expect(settle({ backend: 'sim' }, t4AndA100)).toEqual({ boards: ['A100'], isReal: false })
    expect(settle({ backend: 'nvml' }, t4AndA100)).toEqual({ boards: ['A100'], isReal: true })
    expect(settle({ backend: 'auto' }, t4AndA100)).toEqual({ boards: ['A100'], isReal: true })
  })

  it('asks for a name where none of this machine has tasks, saying what is there', () => {
    expect(() => settle({ backend: 'sim' }, nothing)).toThrow(/name a board.*no NVIDIA driver library/)
    expect(() => settle({ backend: 'nvml' }, t4)).toThrow(/name a board.*Tesla T4/)
  })

  it('never takes a simulated board for a real one', () => {
    expect(() => settle({ gpu: 'A100', backend: 'nvml' }, t4)).toThrow(/no A100 to run on: .*Tesla T4/)
    expect(() => settle({ gpu: 'all', backend: 'nvml' }, a100)).toThrow(/no 3080Ti to run on/)
  })

  it('says so where auto falls back to a simulated board', () => {
    expect(settle({ gpu: 'A100', backend: 'auto' }, a100)).toEqual({ boards: ['A100'], isReal: true })
    const place = settle({ gpu: 'A100', backend: 'auto' }, nothing)
    expect(place).toMatchObject({ boards: ['A100'], isReal: false })
    expect(place.note).toMatch(/a simulated A100 runs, for no NVIDIA driver library was found/)
  })
})
