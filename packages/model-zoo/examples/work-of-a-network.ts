import { buildNetwork, networkFacts, operatorWork } from '@pctodl/model-zoo'

const { gflops, weightBytes, peakActivationBytes } = networkFacts('resnet50')
console.log(`resnet50: ${gflops.toFixed(2)} GFLOP per image`)

const batch = 32
const memoryMb = (weightBytes + batch * peakActivationBytes) / 1e6
console.log(`weights and activations at batch ${batch}: ${memoryMb.toFixed(0)} MB in half precision`)

const traffic = new Map<string, number>()
for (const { operatorClass, inputElements, outputElements } of operatorWork(buildNetwork('resnet50'))) {
  traffic.set(operatorClass, (traffic.get(operatorClass) ?? 0) + inputElements + outputElements)
}
for (const [operatorClass, elements] of [...traffic].sort((a, b) => b[1] - a[1]).slice(0, 3)) {
  console.log(`${operatorClass}: ${(elements / 1e6).toFixed(1)} M activation elements read and written`)
}
