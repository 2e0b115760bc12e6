export { exportOnnx } from './run-export-onnx.js'
