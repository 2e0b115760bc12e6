import { openSimulated } from '@pctodl/backend'
import { loadPerfModel, shippedParameters } from '@pctodl/perf-model'
import { broken, type Finding, ok } from './finding.js'
import { firstLineOf } from './first-line-of.js'

const BOARD = '3080Ti'
const tenants = [
  { model: 'resnet50', mpsPercent: 50, batchSize: 16 },
  { model: 'resnet50', mpsPercent: 50, batchSize: 16 },
]
const REINSTALL = 'install pctodl again; if that does not help, report it with this output'

/** Runs a simulated board for ten seconds of its time. Without a GPU, every command depends on it. */
export async function checkSimulatedBoard(): Promise<Finding> {
  const check = 'simulated board'
  try {
    const backend = openSimulated({ gpu: BOARD })
    try {
      await backend.tenants.apply(tenants)
      await backend.clock.sleep(10_000)
      const { powerAverageW } = await backend.gpu.sample()
      const samples = backend.tenants.counters().reduce((sum, counters) => sum + counters.samples, 0)
      if (powerAverageW === null || samples === 0) throw new Error(`power ${powerAverageW} W, ${samples} samples`)
      return ok(check, `${BOARD} with two tenants of resnet50: ${powerAverageW.toFixed(1)} W`)
    } finally {
      await backend.close()
    }
  } catch (error) {
    return broken(check, error instanceof Error ? error.message : String(error), REINSTALL)
  }
}

/** Loads the model files of the predictor, and predicts with each. */
export function checkPredictor(): Finding {
  const check = 'predictor'
  try {
    const boards = Object.keys(shippedParameters)
    for (const board of boards) {
      const model = loadPerfModel(board)
      const operatingPoint = { smClockMhz: model.spec.boostClockMhz, memClockMhz: model.memClocksMhz.at(-1)! }
      const { throughput } = model.predict({ tenants, ...operatingPoint })
      if (!(throughput > 0)) throw new Error(`${board}: a throughput of ${throughput}`)
    }
    return ok(check, `fitted parameters of ${boards.join(', ')}`)
  } catch (error) {
    return broken(check, error instanceof Error ? error.message : String(error), REINSTALL)
  }
}

/** Checks for a C compiler, with which `pctodl sim host` builds its NVML library if no prebuilt one fits. */
export async function checkCompiler(signal: AbortSignal): Promise<Finding> {
  const check = 'C compiler'
  const compiler = process.env['CC'] || 'cc'
  const answer = await firstLineOf(compiler, ['--version'], signal)
  if (answer.kind === 'answered') return ok(check, answer.line)
  return {
    check,
    verdict: answer.kind === 'failed' ? 'broken' : 'absent',
    detail: answer.kind === 'failed' ? `${compiler}: ${answer.reason}` : `no '${compiler}' on PATH`,
    advice:
      'for `pctodl sim host`: install one (Debian, Ubuntu: apt install gcc libc6-dev; Fedora: dnf install gcc glibc-devel), ' +
      'or name it in CC',
  }
}
