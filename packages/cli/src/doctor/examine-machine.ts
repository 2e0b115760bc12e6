import { checkBoards } from './check-board.js'
import { checkMps } from './check-mps.js'
import { checkBrowser, checkSlurm } from './check-optional.js'
import { checkLeases, checkPermission } from './check-permissions.js'
import { checkModelFiles, checkOnnxRuntime, checkPython } from './check-runtimes.js'
import { checkCompiler, checkPredictor, checkSimulatedBoard } from './check-simulation.js'
import { type Finding, ok } from './finding.js'

export interface ExamineOptions {
  /** NVML's library. Default: where drivers install it. */
  readonly library?: string
  /** Folder of leases. Default: `$PCTODL_LEASE_DIR`, or `/var/lib/pctodl/leases`. */
  readonly leaseDir?: string
}

/** Checks everything that a command may need. Changes nothing, and leaves no process running. */
export async function examineMachine({ library, leaseDir }: ExamineOptions, signal: AbortSignal): Promise<Finding[]> {
  const { findings: boards, nvml } = checkBoards(library)
  return [
    ok('Node.js', `${process.version} on ${process.platform} ${process.arch}`),
    await checkSimulatedBoard(),
    checkPredictor(),
    await checkCompiler(signal),
    ...boards,
    await checkPermission(nvml),
    checkLeases(leaseDir),
    await checkMps(),
    ...(await checkPython(signal)),
    checkOnnxRuntime(),
    checkModelFiles(),
    await checkBrowser(signal),
    await checkSlurm(signal),
  ]
}
