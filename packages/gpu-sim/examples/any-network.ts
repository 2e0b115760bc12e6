import { simulateSteadyState } from '@pctodl/gpu-sim'
import { exportOnnx, graphFromOnnx } from '@pctodl/model-zoo'

// The bytes of any ONNX file: readFileSync('detector.onnx'). Here of one that is made on the spot.
const { model } = exportOnnx('mobilenet_v2')
const detector = graphFromOnnx(model, { name: 'detector' })
for (const { operator, shareOfElements } of detector.unknownOperators) {
  console.log(`${operator} is not known: ${(100 * shareOfElements).toFixed(1)} % of what the network moves`)
}

for (const precision of ['fp32', 'tf32', 'fp16', 'int8'] as const) {
  const simulate = simulateSteadyState('A100', { networks: [detector], precision, host: 'tensorrt-like' })
  const tenants = [{ model: 'detector', mpsPercent: 50, batchSize: 32 }]
  const { throughput, powerW } = simulate({ tenants, smClockMhz: 1200, memClockMhz: 1215 })
  console.log(`${precision}: ${throughput.toFixed(0)} samples/s, ${powerW.toFixed(0)} W`)
}
