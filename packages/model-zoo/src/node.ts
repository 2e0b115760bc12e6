export { type WrittenFile, writeOnnx } from './onnx/write-onnx.js'
