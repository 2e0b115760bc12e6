import { main } from './main.js'

const interrupted = new AbortController()
process.once('SIGINT', () => interrupted.abort(new Error('interrupted')))
process.once('SIGTERM', () => interrupted.abort(new Error('terminated')))

// Setting the code instead of exiting lets standard output drain into a pipe.
main(process.argv.slice(2), { stdout: process.stdout, stderr: process.stderr, signal: interrupted.signal }).then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    process.stderr.write(`bench-runner: internal error: ${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = 1
  },
)
