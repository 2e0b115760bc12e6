import { fileURLToPath } from 'node:url'
import { inferenceProgram } from './inference-program.js'
import { OnnxModel } from './onnx-model.js'

/** The worker program for onnxruntime-node. */
inferenceProgram(fileURLToPath(import.meta.url), (start) => OnnxModel.load(start))
