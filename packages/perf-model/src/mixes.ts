import type { Mix } from './parameters.js'

export const mixes: readonly Mix[] = ['like tenants', 'unlike tenants', 'several networks']

export function mixIndex(likeTenants: boolean, severalNetworks: boolean): number {
  return severalNetworks ? 2 : likeTenants ? 0 : 1
}
