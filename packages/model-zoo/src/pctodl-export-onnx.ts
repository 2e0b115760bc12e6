import { runExportOnnx } from './run-export-onnx.js'

process.exitCode = runExportOnnx(process.argv.slice(2), process)
