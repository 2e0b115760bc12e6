import { fileURLToPath } from 'node:url'
import { inferenceProgram } from './inference-program.js'
import { TimedModel } from './timed-model.js'

/** The stand-in's worker program. */
inferenceProgram(fileURLToPath(import.meta.url), async (start) => new TimedModel(start))
