import { fileURLToPath } from 'node:url'
import { inferenceProgram } from './inference-program.js'
import { TimedModel } from './timed-model.js'

/** The worker program of `timedWorker`. */
inferenceProgram(fileURLToPath(import.meta.url), async (start) => new TimedModel(start))
