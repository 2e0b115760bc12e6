import { networkName, UnknownNameError } from '@pctodl/platform'

/**
 * The name under which a model has a network, given that name or one that the field uses for it.
 *
 * @param networks names of the model's networks
 * @throws UnknownNameError for a network that the model does not have
 */
export function networkOf(networks: readonly string[], name: string): string {
  if (networks.includes(name)) return name
  const known = fieldsName(name)
  const found = networks.find((own) => known !== undefined && (own === known || fieldsName(own) === known))
  if (found === undefined) throw new UnknownNameError('network', name, networks)
  return found
}

function fieldsName(name: string): string | undefined {
  try {
    return networkName(String(name))
  } catch (error) {
    // Parameters fitted elsewhere may be of networks that the family has no name for.
    if (error instanceof UnknownNameError) return undefined
    throw error
  }
}
