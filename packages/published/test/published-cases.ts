import { goldenRows } from '@pctodl/reference-data'

/** What the published search did with the published predictor, 31 cases with both variants of the search. */
export interface PublishedRun {
  readonly caseId: string
  readonly model: string
  readonly platform: string
  readonly dataset: string
  readonly memClocksMhz: readonly number[]
  readonly powerCapW: number
  readonly sharePercentStep: number
  readonly maxTenants: number | undefined
  readonly maxSharePercent: number | undefined
  readonly variant: 'standard' | 'vectorized'
  readonly shares: readonly number[]
  readonly batches: readonly number[]
  readonly smClockMhz: number
  readonly memClockMhz: number
  /** Null where it found nothing. */
  readonly throughput: number | null
  readonly powerW: number | null
  readonly configsSearched: number
  /** `share:batch` of each tenant in the order of admission. */
  readonly admitted: readonly string[]
  readonly cpuMs: number
}

const publishedMemClocks: Readonly<Record<string, readonly number[]>> = { '3080ti': [9501, 5001], a100: [1215] }

export function publishedRuns(): PublishedRun[] {
  return goldenRows('pctodl/golden_greedy.csv').map((row) => ({
    caseId: row['case_id']!,
    model: row['model']!,
    platform: row['platform']!,
    dataset: row['dataset']!,
    memClocksMhz: row['mem_freq_arg'] ? [Number(row['mem_freq_arg'])] : publishedMemClocks[row['platform']!]!,
    powerCapW: Number(row['p_cap']),
    sharePercentStep: Number(row['mps_step']),
    maxTenants: optional(row['max_tasks']),
    maxSharePercent: optional(row['max_mps_per_task']),
    variant: row['variant'] as PublishedRun['variant'],
    shares: JSON.parse(row['p_list']!),
    batches: JSON.parse(row['b_list']!),
    smClockMhz: Number(row['sm_freq']),
    memClockMhz: Number(row['mem_freq']),
    throughput: optional(row['throughput']) ?? null,
    powerW: optional(row['power']) ?? null,
    configsSearched: Number(row['configs_searched']),
    admitted: (row['trajectory'] ?? '').split(';').flatMap((step) => (step === '' ? [] : step.split('@')[0]!)),
    cpuMs: Number(row['partition_cpu_ms']),
  }))
}

/** The best that an enumeration found with the published predictor, by case. */
export interface PublishedOptimum {
  readonly caseId: string
  readonly sharePercentStep: number
  readonly throughput: number
  readonly powerW: number
}

export function publishedOptima(): PublishedOptimum[] {
  return goldenRows('pctodl/greedy_vs_exhaustive.csv')
    .filter((row) => row['variant'] === 'standard')
    .map((row) => ({
      caseId: row['case_id']!,
      sharePercentStep: Number(row['mps_step']),
      throughput: Number(row['best_tput']),
      powerW: Number(row['best_power']),
    }))
}

function optional(text: string | undefined): number | undefined {
  return text === undefined || text === '' ? undefined : Number(text)
}
