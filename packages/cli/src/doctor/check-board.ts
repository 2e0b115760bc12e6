import { existsSync } from 'node:fs'
import {
  type BoardFacts,
  boardFacts,
  loadNvml,
  type Nvml,
  NvmlNotFoundError,
  specOfBoard,
  UnknownBoardError,
} from '@pctodl/nvml-control'
import { shippedParameters } from '@pctodl/perf-model'
import { PctodlError } from '@pctodl/platform'
import { absent, broken, type Finding, ok } from './finding.js'

const INSTALL =
  'for real boards: install the NVIDIA driver (Debian, Ubuntu: apt install nvidia-driver). Without a GPU everything runs on ' +
  'simulated boards: `pctodl run --gpu 3080Ti --model resnet50 --power-cap 200`, `pctodl sim host --gpu 3080Ti -- nvidia-smi`'
const CONTAINER =
  'start the container with `--gpus all` (or the NVIDIA runtime) and NVIDIA_DRIVER_CAPABILITIES=utility,compute'

/** Findings about NVML and the boards. */
export interface BoardFindings {
  readonly findings: readonly Finding[]
  /** The NVML library; undefined if it does not work. */
  readonly nvml: Nvml | undefined
}

/** Checks the driver, NVML, and each board. */
export function checkBoards(libraryPath: string | undefined): BoardFindings {
  let nvml: Nvml
  try {
    nvml = loadNvml(libraryPath === undefined ? {} : { libraryPath })
  } catch (error) {
    return { findings: withoutNvml(error), nvml: undefined }
  }
  const findings = [
    ok('driver', `NVIDIA ${nvml.driverVersion}`),
    ok('NVML', `${nvml.nvmlVersion} from ${nvml.libraryPath}`),
  ]
  if (nvml.deviceCount === 0) {
    findings.push(absent('boards', 'the driver knows no board', `is one plugged in? In a container: ${CONTAINER}`))
  }
  for (let index = 0; index < nvml.deviceCount; index++) findings.push(checkBoard(nvml, index))
  return { findings, nvml }
}

function withoutNvml(error: unknown): Finding[] {
  const isLoaded = existsSync('/proc/driver/nvidia/version')
  if (error instanceof NvmlNotFoundError) {
    return [
      isLoaded ? ok('driver', 'loaded into the kernel') : absent('driver', 'no NVIDIA driver on this machine', INSTALL),
      isLoaded
        ? broken('NVML', 'libnvidia-ml.so.1 is not here, although the driver is loaded', `in a container: ${CONTAINER}`)
        : absent('NVML', 'libnvidia-ml.so.1 was not found', 'it comes with the driver'),
    ]
  }
  if (!(error instanceof PctodlError)) throw error
  return [
    isLoaded
      ? ok('driver', 'loaded into the kernel')
      : broken('driver', 'installed, not loaded', 'modprobe nvidia, or reboot after the installation'),
    broken('NVML', error.message, 'library and kernel module must be of one version: reboot after an update'),
  ]
}

function checkBoard(nvml: Nvml, index: number): Finding {
  const check = `GPU ${index}`
  try {
    const facts = boardFacts(nvml.deviceByIndex(index))
    return { ...ok(check, facts.name), advice: adviceFor(facts) }
  } catch (error) {
    if (!(error instanceof PctodlError)) throw error
    return broken(check, error.message, 'see `pctodl gpu list`')
  }
}

/** The advice depends on what is known of the board type. */
function adviceFor(facts: BoardFacts): string {
  try {
    const { key } = specOfBoard(facts)
    return Object.hasOwn(shippedParameters, key)
      ? `the shipped parameters were fitted to a simulated ${key}; \`pctodl profile\` and \`pctodl fit\` fit your own`
      : `no predictor parameters are shipped for ${key}: measure traces with \`pctodl profile\`, fit them with \`pctodl fit\``
  } catch (error) {
    if (error instanceof UnknownBoardError) return error.message
    throw error
  }
}
