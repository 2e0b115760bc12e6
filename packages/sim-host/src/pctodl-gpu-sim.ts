import { sim } from './sim-command.js'

// Setting the code instead of exiting lets standard output drain into a pipe.
sim(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    process.stderr.write(`pctodl-gpu-sim: internal error: ${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = 1
  },
)
