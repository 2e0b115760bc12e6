export { writeOnnx } from './onnx/write-onnx.js'
