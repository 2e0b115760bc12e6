import type { NetworkDemand } from '@pctodl/platform'

const demand = (
  denseGflops: number,
  depthwiseMelements: number,
  computedMelements: number,
  movedMelements: number,
  weightMelements: number,
  kernels: number,
  peakMelements: number,
): NetworkDemand => ({
  denseGflops,
  depthwiseMelements,
  computedMelements,
  movedMelements,
  weightMelements,
  kernels,
  peakMelements,
})

/** What `networkDemand` of `@pctodl/model-zoo` gives for the networks of the paper, to four digits. */
export const networkDemands: Readonly<Record<string, NetworkDemand>> = {
  densenet201: demand(8.583, 0, 31.81, 138.7, 20.24, 710, 2.107),
  efficientnet_v2_m: demand(10.62, 12.26, 39.33, 100.3, 54.43, 734, 1.355),
  maxvit_t: demand(11.05, 11.74, 70.97, 141.1, 32.58, 666, 6.623),
  mnasnet1_0: demand(0.5722, 4.735, 11, 21.45, 4.421, 151, 1.204),
  mobilenet_v2: demand(0.5601, 6.043, 13.45, 26.28, 3.539, 151, 2.408),
  resnet50: demand(8.178, 0, 21.78, 59.11, 25.61, 174, 2.408),
  vgg19: demand(39.26, 0, 25.28, 37.42, 143.7, 43, 6.423),
}
