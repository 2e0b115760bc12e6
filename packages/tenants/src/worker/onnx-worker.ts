import { fileURLToPath } from 'node:url'
import { inferenceProgram } from './inference-program.js'
import { OnnxModel } from './onnx-model.js'

/** The worker on onnxruntime-node, a program of its own. */
inferenceProgram(fileURLToPath(import.meta.url), (start) => OnnxModel.load(start))
