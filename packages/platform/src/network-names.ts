import { UnknownNameError } from './errors.js'

/** Torchvision names of the networks in the PctoDL paper's experiments. */
export const networkNames = [
  'mnasnet1_0',
  'densenet201',
  'efficientnet_v2_m',
  'maxvit_t',
  'mobilenet_v2',
  'resnet50',
  'vgg19',
] as const

export type NetworkName = (typeof networkNames)[number]

const aliases: ReadonlyMap<string, NetworkName> = new Map([
  ['mnasnet', 'mnasnet1_0'],
  ['maxvit', 'maxvit_t'],
  ['mobilenetv2', 'mobilenet_v2'],
  ['efficientnetv2m', 'efficientnet_v2_m'],
])

/**
 * Returns the torchvision name of a network, given that name or a common alias (`mnasnet`, `maxvit`, `mobilenetv2`).
 *
 * @throws UnknownNameError listing the known networks
 */
export function networkName(name: string): NetworkName {
  const lower = typeof name === 'string' ? name.toLowerCase() : ''
  const known = networkNames.find((candidate) => candidate === lower) ?? aliases.get(lower)
  if (known === undefined) throw new UnknownNameError('network', name, networkNames)
  return known
}
