import { networkName, UnknownNameError } from '@pctodl/platform'

/**
 * Resolve a network's name, or a common alternative spelling, to the name used by the model.
 *
 * @param networks names of the model's networks
 * @throws UnknownNameError for a network that the model does not have
 */
export function networkOf(networks: readonly string[], name: string): string {
  if (networks.includes(name)) return name
  const known = typeof name === 'string' ? commonName(name) : undefined
  const found = networks.find((own) => commonName(own) === known)
  if (found === undefined) throw new UnknownNameError('network', name, networks)
  return found
}

/** Common name of a network; an unknown name is returned in lower case. */
export function commonName(name: string): string {
  const lower = name.toLowerCase()
  try {
    return networkName(lower)
  } catch (error) {
    // Parameters fitted elsewhere may contain networks without a common name.
    if (error instanceof UnknownNameError) return lower
    throw error
  }
}
