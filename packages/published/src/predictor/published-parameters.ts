import { findGpuSpec, networkName, UnknownNameError } from '@pctodl/platform'
import { type PublishedEnsembles, PublishedPredictor } from './published-predictor.js'
import type { ClosedFormParameters, PublishedSetId } from './published-set.js'

/** One set of the Python code's parameters. Its tree ensembles are large and read on first use. */
export interface PublishedSet {
  readonly id: PublishedSetId
  readonly closedForms: ClosedFormParameters
  readonly ensembles: () => PublishedEnsembles
}

export interface PublishedSelection {
  /** The network's name in the Python code or torchvision, or an alias. */
  readonly model: string
  /**
   * The Python code's name of the board, `3080ti` or `a100`. If absent, sets without a platform in their name are used.
   */
  readonly platform?: string | undefined
  readonly dataset?: string | undefined
  /** Memory clock, MHz. Default: the platform's highest, if a platform is given. */
  readonly memFreq?: number | undefined
}

export interface PublishedPredictorOptions extends PublishedSelection {
  /**
   * Whether to saturate the SM utilisation of several tenants, as the Python code's fit does but its predictor does
   * not. Default false.
   */
  readonly smSystemStage?: boolean | undefined
  /**
   * Whether to use the tree ensembles, as the Python code does. Default true; with false, only the closed forms are
   * used.
   */
  readonly ensembles?: boolean | undefined
  /** Whether to accept shares that sum to more than 100. Default false. */
  readonly oversubscribe?: boolean | undefined
  /** Reaction to a missing set: throw (default), or predict from constants, as the Python code silently does. */
  readonly whenMissing?: 'throw' | 'reference-defaults' | undefined
}

/** The Python code's fitted parameters, as exported to JSON; `loadPublishedParameters` reads them from a folder. */
export class PublishedParameters {
  readonly #sets: readonly PublishedSet[]

  constructor(sets: readonly PublishedSet[]) {
    this.#sets = sets
  }

  /** Identifiers of the available sets. */
  get sets(): readonly PublishedSetId[] {
    return this.#sets.map((set) => set.id)
  }

  /** Memory clocks at which a set matches the selection, MHz, descending. */
  memClocksMhz({ model, platform, dataset }: PublishedSelection): number[] {
    const clocks = [...new Set(this.#sets.map((set) => set.id.memClockMhz))].sort((a, b) => b - a)
    return clocks.filter((memFreq) => this.#find({ model, platform, dataset, memFreq }) !== undefined)
  }

  /**
   * Returns a predictor of one network at one memory clock. If there is no set for dataset and platform, it uses one
   * with only the platform in its name, then one with only the dataset, then one with neither, as the Python code does.
   *
   * @throws UnknownNameError listing the sets of the network, unless `whenMissing` selects the Python code's constants
   */
  predictor(options: PublishedPredictorOptions): PublishedPredictor {
    const { smSystemStage = false, ensembles = true, oversubscribe = false, whenMissing = 'throw' } = options
    const memFreq = options.memFreq ?? defaultMemClock(options.platform)
    const set = this.#find({ ...options, memFreq })
    if (set === undefined && whenMissing === 'throw') throw this.#missing(options, memFreq)
    return new PublishedPredictor(set?.id ?? null, memFreq, {
      closedForms: set?.closedForms ?? null,
      ensembles: set && ensembles ? set.ensembles() : null,
      smSystemStage,
      oversubscribe,
    })
  }

  #find({ model, platform, dataset, memFreq }: PublishedSelection): PublishedSet | undefined {
    if (memFreq === undefined) return undefined
    const name = publishedModelName(model)
    const candidates = this.#sets.filter((set) => set.id.model === name && set.id.memClockMhz === Math.trunc(memFreq))
    const wantedDataset = dataset?.toLowerCase() ?? null
    const wantedPlatform = platform?.toLowerCase() ?? null
    for (const [d, p] of [
      [wantedDataset, wantedPlatform],
      [null, wantedPlatform],
      [wantedDataset, null],
      [null, null],
    ]) {
      const found = candidates.find((set) => set.id.dataset === d && set.id.platform === p)
      if (found) return found
    }
    return undefined
  }

  #missing({ model, platform, dataset }: PublishedSelection, memFreq: number | undefined): UnknownNameError {
    const wanted = setName({
      model: publishedModelName(model),
      dataset: dataset ?? null,
      platform: platform ?? null,
      memClockMhz: memFreq ?? 0,
    })
    const ofModel = this.#sets.filter((set) => set.id.model === publishedModelName(model))
    const known = (ofModel.length > 0 ? ofModel : this.#sets).map((set) => setName(set.id))
    return new UnknownNameError('reference parameter set', wanted, known)
  }
}

/** Name of a set, e.g. `resnet50_imagenet_a100_mem1215`: the Python code's folder and file suffix. */
export function setName({ model, dataset, platform, memClockMhz }: PublishedSetId): string {
  const memory = memClockMhz > 0 ? `mem${memClockMhz}` : 'no memory clock'
  return [model, dataset, platform, memory].filter((part) => part !== null).join('_')
}

/** The Python code's name of a network: torchvision's, except for `mnasnet`. */
export function publishedModelName(model: string): string {
  const lower = model.toLowerCase()
  try {
    const name = networkName(lower)
    return name === 'mnasnet1_0' ? 'mnasnet' : name
  } catch (error) {
    // A set may be of a network that has no common name. The caller finds out whether any set matches.
    if (error instanceof UnknownNameError) return lower
    throw error
  }
}

function defaultMemClock(platform: string | undefined): number | undefined {
  return platform === undefined ? undefined : findGpuSpec(platform).performanceMemClocksMhz[0]
}
