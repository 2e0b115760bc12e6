import { readFileSync } from 'node:fs'
import { graphFromOnnx } from '@pctodl/model-zoo'

/** What a network of yours asks of a device, from its ONNX file. */
export function summary(file: string): string {
  const { name, layers, parameters, unknownOperators } = graphFromOnnx(readFileSync(file))
  const gflops = layers.reduce((sum, layer) => sum + layer.flops, 0) / 1e9
  const unknown = unknownOperators.map(({ operator, shareOfElements }) => {
    return `; not known: ${operator} (${(100 * shareOfElements).toFixed(1)} % of what moves)`
  })
  return `${name}: ${(parameters / 1e6).toFixed(1)} M parameters, ${layers.length} operators, ${gflops.toFixed(2)} GFLOP${unknown.join('')}`
}
