import { assertTenants, InvalidInputError, MAX_MPS_CLIENTS, sameProcess, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'

const tenant = (changes: Partial<Record<keyof Tenant, unknown>> = {}): Tenant =>
  ({ model: 'resnet50', mpsPercent: 25, batchSize: 8, ...changes }) as Tenant

describe('assertTenants', () => {
  it('accepts what a board could run', () => {
    assertTenants([tenant()])
    assertTenants([tenant({ mpsPercent: 33.4 }), tenant({ mpsPercent: 66.6, batchSize: 256 })])
    assertTenants(Array.from({ length: 10 }, () => tenant({ mpsPercent: 10 })))
    assertTenants(Array.from({ length: 3 }, () => tenant({ mpsPercent: 100 / 3 })))
  })

  it.each([
    ['mpsPercent', 0],
    ['mpsPercent', -5],
    ['mpsPercent', 100.1],
    ['mpsPercent', Number.NaN],
    ['mpsPercent', '50 %'],
    ['mpsPercent', 5n],
    ['mpsPercent', Symbol('5')],
    ['batchSize', 0],
    ['batchSize', 2.5],
    ['batchSize', Number.POSITIVE_INFINITY],
    ['model', ''],
    ['model', 7],
    ['model', { n: 1n }],
    ['model', Object.create(null)],
  ] as const)('names tenant and field where %s is %s', (field, value) => {
    const check = () => assertTenants([tenant(), tenant({ [field]: value })])
    expect(check).toThrow(InvalidInputError)
    expect(check).toThrow(`tenants[1].${field}: got`)
  })

  it('wants at least one tenant, and no more than MPS takes', () => {
    for (const none of [[], undefined, 5, {}]) {
      expect(() => assertTenants(none as never)).toThrow(/^tenants: got .* at least one tenant/)
    }
    for (const gap of [[null], new Array(2)]) expect(() => assertTenants(gap as never)).toThrow(/^tenants\[0\]: got/)
    const crowd = (count: number) => Array.from({ length: count }, () => tenant({ mpsPercent: 1 }))
    assertTenants(crowd(MAX_MPS_CLIENTS))
    expect(() => assertTenants(crowd(MAX_MPS_CLIENTS + 1))).toThrow(/at most 48, the MPS client limit/)
  })

  it('lets shares exceed 100 % only where that is asked for', () => {
    const over = [tenant({ mpsPercent: 60 }), tenant({ mpsPercent: 41 })]
    expect(() => assertTenants(over)).toThrow(/sum of tenants\[\]\.mpsPercent: got 101.*oversubscribe: true/)
    assertTenants(over, { oversubscribe: true })
  })
})

describe('sameProcess', () => {
  it('is a matter of network and share, not of the batch size', () => {
    expect(sameProcess(tenant(), tenant({ batchSize: 64 }))).toBe(true)
    expect(sameProcess(tenant(), tenant({ mpsPercent: 30 }))).toBe(false)
    expect(sameProcess(tenant(), tenant({ model: 'vgg19' }))).toBe(false)
  })
})
