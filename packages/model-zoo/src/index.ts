export { buildNetwork } from './build-network.js'
export { type NetworkFacts, networkFacts } from './network-facts.js'
export type {
  Extent,
  GraphNode,
  NetworkGraph,
  NodeOf,
  OperatorAttributes,
  OperatorKind,
  WeightTensor,
} from './network-graph.js'
export { parameterCount } from './parameter-count.js'
export { elementCount, type InputSize, inferShapes, type Shape } from './shapes.js'
export { type OperatorClass, type OperatorWork, operatorWork, type WorkOptions } from './work.js'
export { exportOnnx, type OnnxExport, type OnnxOptions } from './onnx/export-onnx.js'
export { type WrittenFile, writeOnnx } from './onnx/write-onnx.js'
