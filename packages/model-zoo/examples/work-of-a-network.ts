import { layerGraph } from '@pctodl/model-zoo'

const { layers, weightElements, peakActivationElements } = layerGraph('resnet50')
const flops = layers.reduce((sum, layer) => sum + layer.flops, 0)
console.log(`resnet50: ${(flops / 1e9).toFixed(2)} GFLOP per image`)

const batch = 32
const memoryMb = (2 * (weightElements + batch * peakActivationElements)) / 1e6
console.log(`weights and activations at batch ${batch}: ${memoryMb.toFixed(0)} MB in half precision`)

const traffic = new Map<string, number>()
for (const { operatorClass, inputElements, outputElements } of layers) {
  traffic.set(operatorClass, (traffic.get(operatorClass) ?? 0) + inputElements + outputElements)
}
for (const [operatorClass, elements] of [...traffic].sort((a, b) => b[1] - a[1]).slice(0, 3)) {
  console.log(`${operatorClass}: ${(elements / 1e6).toFixed(1)} M activation elements read and written`)
}
