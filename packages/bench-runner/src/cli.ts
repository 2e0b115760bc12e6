import { main } from './main.js'

const interrupted = new AbortController()
process.once('SIGINT', () => interrupted.abort(new Error('interrupted')))
process.once('SIGTERM', () => interrupted.abort(new Error('terminated')))
process.exitCode = await main(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  signal: interrupted.signal,
})
