import { networkName, UnknownNameError } from '@pctodl/platform'

/**
 * The name under which a model has a network, given that name or one that the field uses for it.
 *
 * @param networks names of the model's networks
 * @throws UnknownNameError for a network that the model does not have
 */
export function networkOf(networks: readonly string[], name: string): string {
  if (networks.includes(name)) return name
  const known = commonName(name)
  const found = networks.find((own) => commonName(own) === known)
  if (found === undefined) throw new UnknownNameError('network', name, networks)
  return found
}

/** The family's name of a network; one that it does not know keeps its own, in small letters. */
export function commonName(name: string): string {
  const lower = String(name).toLowerCase()
  try {
    return networkName(lower)
  } catch (error) {
    // Parameters fitted elsewhere may be of networks that the family has no name for.
    if (error instanceof UnknownNameError) return lower
    throw error
  }
}
