import type { Activation, GraphBuilder } from '../graph-builder.js'

/**
 * Adds squeeze and excitation: scales each channel by a gate computed from all channels' means (Hu et al., arXiv
 * 1709.01507). The two fully connected layers are 1x1 convolutions with a bias.
 */
export function squeezeExcitation(
  graph: GraphBuilder,
  path: string,
  input: Activation,
  squeezeChannels: number,
  options: { readonly inPlace: boolean },
): Activation {
  let gate = graph.adaptiveAvgPool(`${path}.avgpool`, input, 1)
  gate = graph.conv2d(`${path}.fc1`, gate, squeezeChannels, { bias: true })
  gate = graph.activation(`${path}.activation`, 'silu', gate, options)
  gate = graph.conv2d(`${path}.fc2`, gate, input.channels, { bias: true })
  gate = graph.activation(`${path}.scale_activation`, 'sigmoid', gate)
  return graph.mul(`${path}.scale`, gate, input)
}
