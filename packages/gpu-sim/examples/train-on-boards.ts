import { SimulatedGpu, SimulatedTraining } from '@pctodl/gpu-sim'
import { layerGraph, trainingGraph } from '@pctodl/model-zoo'
import { VirtualClock } from '@pctodl/platform'

const clock = new VirtualClock()
const networks = [trainingGraph(layerGraph('resnet50'))]
const big = new SimulatedGpu('A100', { clock, networks })
const small = new SimulatedGpu('3080Ti', { clock, networks })

for (const [ours, theirs] of [
  [64, 64],
  [79, 49],
] as const) {
  const workers = [
    { gpu: big, share: ours },
    { gpu: small, share: theirs },
  ]
  const training = new SimulatedTraining(workers, { model: 'resnet50:training', allReduceMs: 4 })
  await training.start()
  await training.further(20)
  const beginMs = training.lastStepMs!
  await training.further(100)
  console.log(`${ours} + ${theirs}: ${((training.lastStepMs! - beginMs) / 100).toFixed(1)} ms a step`)
  await training.stop()
}
