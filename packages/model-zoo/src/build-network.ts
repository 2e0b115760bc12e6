import { type NetworkName, networkName } from '@pctodl/platform'
import type { NetworkGraph } from './network-graph.js'
import { densenet201 } from './networks/densenet201.js'
import { efficientnetV2M } from './networks/efficientnet-v2-m.js'
import { maxvitT } from './networks/maxvit-t.js'
import { mnasnet1_0 } from './networks/mnasnet1-0.js'
import { mobilenetV2 } from './networks/mobilenet-v2.js'
import { resnet50 } from './networks/resnet50.js'
import { vgg19 } from './networks/vgg19.js'

const architectures: Readonly<Record<NetworkName, () => NetworkGraph>> = {
  mnasnet1_0,
  densenet201,
  efficientnet_v2_m: efficientnetV2M,
  maxvit_t: maxvitT,
  mobilenet_v2: mobilenetV2,
  resnet50,
  vgg19,
}

/**
 * Builds the operator graph of a network.
 *
 * @param name torchvision's name, or an alias such as `mnasnet` or `maxvit`
 * @throws UnknownNameError listing the networks that exist.
 */
export function buildNetwork(name: string): NetworkGraph {
  return architectures[networkName(name)]()
}
