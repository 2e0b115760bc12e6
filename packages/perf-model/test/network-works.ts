import type { NetworkWork } from '@pctodl/platform'

const work = (
  denseGflops: number,
  depthwiseMelements: number,
  computedMelements: number,
  movedMelements: number,
  weightMelements: number,
  kernels: number,
  peakMelements: number,
): NetworkWork => ({
  denseGflops,
  depthwiseMelements,
  computedMelements,
  movedMelements,
  weightMelements,
  kernels,
  peakMelements,
})

/** Results of `networkWork` of `@pctodl/model-zoo` for the seven networks, to four digits. */
export const networkWorks: Readonly<Record<string, NetworkWork>> = {
  densenet201: work(8.583, 0, 31.81, 138.7, 20.24, 710, 2.107),
  efficientnet_v2_m: work(10.62, 12.26, 39.33, 100.3, 54.43, 734, 1.355),
  maxvit_t: work(11.05, 11.74, 70.97, 141.1, 32.58, 666, 6.623),
  mnasnet1_0: work(0.5722, 4.735, 11, 21.45, 4.421, 151, 1.204),
  mobilenet_v2: work(0.5601, 6.043, 13.45, 26.28, 3.539, 151, 2.408),
  resnet50: work(8.178, 0, 21.78, 59.11, 25.61, 174, 2.408),
  vgg19: work(39.26, 0, 25.28, 37.42, 143.7, 43, 6.423),
}
