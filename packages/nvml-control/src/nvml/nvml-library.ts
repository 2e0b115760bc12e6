import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { reasonOf } from '../reason-of.js'
import { type NvmlCallName, NvmlCalls } from './nvml-calls.js'
import { NvmlDevice } from './nvml-device.js'
import { assertSuccess } from './nvml-error.js'
import { TEXT_BYTES, textIn } from './nvml-handle.js'

/** Where drivers install NVML. The first is a bare name, which the dynamic linker looks up. */
const candidates: readonly string[] = [
  'libnvidia-ml.so.1',
  '/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1',
  '/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1',
  '/usr/lib64/libnvidia-ml.so.1',
  '/usr/lib/libnvidia-ml.so.1',
  '/usr/local/nvidia/lib64/libnvidia-ml.so.1',
  '/run/opengl-driver/lib/libnvidia-ml.so.1',
  '/usr/lib/wsl/lib/libnvidia-ml.so.1',
]

export class NvmlNotFoundError extends PctodlError {
  /** @param tried every path tried, with the error of the dynamic linker */
  constructor(tried: readonly string[]) {
    super(
      'NVML_NOT_FOUND',
      `NVML (libnvidia-ml.so.1) was not found; it comes with the NVIDIA driver: install one (Debian, Ubuntu: ` +
        '`apt install nvidia-driver`; in a container: start it with `--gpus all` and NVIDIA_DRIVER_CAPABILITIES=utility,compute). ' +
        'Without a GPU, `pctodl sim host --gpu 3080Ti -- <command>` plays one. Tried: ' +
        tried.join('; '),
    )
  }
}

export interface LoadNvmlOptions {
  readonly libraryPath?: string
}

const initialized = new Map<string, Nvml>()

/** Loads NVML, once for each process. @throws NvmlNotFoundError; NvmlError, e.g. `DRIVER_NOT_LOADED` */
export function loadNvml({ libraryPath }: LoadNvmlOptions = {}): Nvml {
  const key = libraryPath ?? ''
  const known = initialized.get(key)
  if (known) return known
  const { calls, path } = firstThatLoads(libraryPath === undefined ? candidates : [libraryPath])
  assertSuccess('nvmlInit_v2', calls.get('nvmlInit_v2')())
  const nvml = new Nvml(calls, path, () => initialized.delete(key))
  initialized.set(key, nvml)
  return nvml
}

function firstThatLoads(paths: readonly string[]): { calls: NvmlCalls; path: string } {
  const tried: string[] = []
  for (const path of paths) {
    try {
      return { calls: new NvmlCalls(path), path }
    } catch (error) {
      tried.push(`${path} (${reasonOf(error).split('\n')[0]})`)
    }
  }
  throw new NvmlNotFoundError(tried)
}

export class Nvml {
  readonly #onClose: () => void
  #open = true

  constructor(
    readonly calls: NvmlCalls,
    /** Path of the NVML library. A bare name means that the dynamic linker found it. */
    readonly libraryPath: string,
    onClose: () => void,
  ) {
    this.#onClose = onClose
  }

  /** Version of the kernel driver, e.g. `550.144.03`. */
  get driverVersion(): string {
    return this.#text('nvmlSystemGetDriverVersion')
  }

  /** Version of the NVML library, e.g. `12.550.144.03`. */
  get nvmlVersion(): string {
    return this.#text('nvmlSystemGetNVMLVersion')
  }

  get deviceCount(): number {
    const count = new Uint32Array(1)
    assertSuccess('nvmlDeviceGetCount_v2', this.calls.get('nvmlDeviceGetCount_v2')(count))
    return count[0]!
  }

  /** Returns all boards in index order. @throws NvmlError for a lost board */
  devices(): NvmlDevice[] {
    return Array.from({ length: this.deviceCount }, (_, index) => this.deviceByIndex(index))
  }

  /** @throws NvmlError `NVML_INVALID_ARGUMENT` if there is no such board */
  deviceByIndex(index: number): NvmlDevice {
    return this.#device('nvmlDeviceGetHandleByIndex_v2', index, `GPU ${index}`)
  }

  /** Returns a board by index (`0`), UUID (`GPU-...`) or PCI bus id (`00000000:01:00.0`). @throws NvmlError */
  device(id: string | number): NvmlDevice {
    const text = String(id)
    if (/^\d+$/.test(text)) return this.deviceByIndex(Number(text))
    if (text.startsWith('MIG-')) {
      const why = 'a MIG instance has no clocks or limits of its own; the node service leases it'
      throw new InvalidInputError('gpu', text, `a board (index, GPU-..., PCI bus id): ${why}`)
    }
    const call = text.startsWith('GPU-') ? 'nvmlDeviceGetHandleByUUID' : 'nvmlDeviceGetHandleByPciBusId_v2'
    return this.#device(call, text, `GPU ${text}`)
  }

  /** Shuts NVML down. Its devices must not be used after this. Idempotent. */
  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#onClose()
    this.calls.get('nvmlShutdown')()
  }

  #device(call: NvmlCallName, id: string | number, subject: string): NvmlDevice {
    const handle: [unknown] = [null]
    assertSuccess(call, this.calls.get(call)(id, handle), subject)
    return new NvmlDevice(this.calls, handle[0], subject)
  }

  #text(call: 'nvmlSystemGetDriverVersion' | 'nvmlSystemGetNVMLVersion'): string {
    const buffer = Buffer.alloc(TEXT_BYTES)
    assertSuccess(call, this.calls.get(call)(buffer, buffer.length))
    return textIn(buffer)
  }
}
