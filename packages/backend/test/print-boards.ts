/** A program of the tests: what is detected where it runs. */
import { detectGpus } from '@pctodl/backend'

console.log(JSON.stringify(detectGpus()))
