import { runNvidiaSmi } from '../nvidia-smi/command-line.js'

process.stdout.on('error', () => process.exit(0)) // the reader of a loop has gone
runNvidiaSmi(process.argv.slice(2), process.env['PCTODL_GPU_SIM_FOLDER'] ?? '', (text) =>
  process.stdout.write(text),
).then((code) => {
  process.exitCode = code
})
