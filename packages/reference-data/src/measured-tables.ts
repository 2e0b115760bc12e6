import { z } from 'zod'
import type { MeasuredRows } from './measured-rows.js'

const text = z.string().min(1)
const number = z.string().min(1).transform(Number).pipe(z.number())
const orNull = <T extends z.ZodType>(column: T) => z.union([z.literal('').transform(() => null), column])
const textOrNull = orNull(text)
const numberOrNull = orNull(number)

const latencies = {
  latency_mean_ms: numberOrNull,
  latency_p50_ms: numberOrNull,
  latency_p90_ms: numberOrNull,
  latency_p99_ms: numberOrNull,
}
const throughputOfNetworks = z.strictObject({
  board: text,
  precision: text,
  layout: text,
  torch: text,
  cuda: text,
  compile: text,
  model: text,
  img_size: number,
  batch_size: numberOrNull,
  samples_per_s: numberOrNull,
  step_ms: numberOrNull,
  gmacs: number,
  macts_m: number,
  params_m: number,
})
const arrivals = z.strictObject({ t_s: number, prompt_tokens: number, output_tokens: number })
const timmTraps =
  'batch size is the largest that fits; eager nchw is far from the roofline for depthwise networks; no power, default limit'

export type MeasuredTableName = keyof MeasuredRows

export interface MeasuredTable<Row> {
  /** A key of `referenceSources`. */
  readonly source: string
  readonly board: string
  /** Description of the measured quantities and their units. */
  readonly about: string
  /** Pitfalls for comparisons. */
  readonly traps: string
  /** Schema of a CSV row; converts it to numbers. */
  readonly row: z.ZodType<Row>
}

/**
 * The tables that `measuredTable` reads. Each entry states the source (a key of `referenceSources`, with the licence),
 * the board, the measured quantities, and pitfalls for comparisons. Units are part of the column names. Board power is
 * NVML's unless stated otherwise.
 */
export const measuredTables: { readonly [Name in MeasuredTableName]: MeasuredTable<MeasuredRows[Name]> } = {
  cap_sweep_llm: {
    source: 'club-3090',
    board: 'RTX 3090, stock limit 370 W',
    about: 'LLM prefill and decode at 21 power limits; W, tokens/s, MHz',
    traps: '1 s average power; a plateau at 327 to 334 W from limits of 340 to 370 W; quantised models, so use ratios',
    row: z.strictObject({
      board: text,
      workload: text,
      cap_w: number,
      throughput_tok_s: number,
      throughput2_tok_s: numberOrNull,
      power_w: number,
      sm_clock_mhz: number,
    }),
  },
  cap_sweep_training: {
    source: 'zeus',
    board: 'V100 (limits end at 250 W)',
    about: 'training time per epoch and mean power by batch size and power limit; s, W',
    traps:
      'single runs; small batches are bound by the host, far below the limit; 8 rows are 0 to 2 % above their limit',
    row: z.strictObject({
      board: text,
      dataset: text,
      network: text,
      batch_size: number,
      optimizer: text,
      cap_w: number,
      epoch_s: number,
      power_w: number,
    }),
  },
  cap_sweep_diffusion_v100: {
    source: 'ai-server',
    board: 'Tesla V100 PCIe 32GB with an added fan shroud',
    about: 'image and video diffusion by power limit; s, W, MHz, degrees C',
    traps:
      'power is the peak sample, above the limit; the video rows are limited by HBM temperature; clocks are minima',
    row: z.strictObject({
      workload: text,
      cap_w: number,
      runs: number,
      cold_s: number,
      warm_avg_s: number,
      warm_best_s: number,
      peak_hbm_c: number,
      peak_core_c: number,
      peak_power_w: number,
      min_sm_clock_mhz: number,
      mean_sm_pct: number,
      aborted: number,
    }),
  },
  mlperf_power_pairs: {
    source: 'mlperf',
    board: 'see board, gpus, system',
    about: 'fastest and most efficient setting of one system; samples/s, ms, W',
    traps: 'wall power covers the whole server; MaxQ changes more than the limit; MaxP runs have no power',
    row: z.strictObject({
      pair: text,
      mode: text,
      round: text,
      submitter: text,
      system: text,
      board: text,
      gpus: number,
      benchmark: text,
      scenario: text,
      valid: text,
      throughput_per_s: numberOrNull,
      ...latencies,
      power_limit_configured_w: numberOrNull,
      batch_size: numberOrNull,
      wall_power_mean_w: numberOrNull,
      wall_power_max_w: numberOrNull,
      wall_power_min_w: numberOrNull,
      wall_power_samples: numberOrNull,
      run_s: numberOrNull,
    }),
  },
  mlperf_throughput: {
    source: 'mlperf',
    board: 'see board, gpus, system',
    about: 'throughput and latency of systems without a lowered limit; samples/s, ms',
    traps: 'several GPUs do not scale exactly; edge and datacenter entries can be the same run',
    row: z.strictObject({
      round: text,
      submitter: text,
      system: text,
      board: text,
      gpus: number,
      benchmark: text,
      scenario: text,
      valid: text,
      throughput_per_s: numberOrNull,
      ...latencies,
      batch_size: numberOrNull,
      software: text,
    }),
  },
  mlperf_mig_neighbours: {
    source: 'mlperf',
    board: 'A100 SXM4 80GB, one slice 1g.10gb of seven',
    about: 'a MIG slice with idle and with busy neighbours; samples/s, ms',
    traps: 'the Server rows fix the rate: compare latency there; no power',
    row: z.strictObject({
      round: text,
      system: text,
      board: text,
      slice: text,
      neighbours: text,
      benchmark: text,
      scenario: text,
      valid: text,
      throughput_per_s: numberOrNull,
      ...latencies,
    }),
  },
  throughput_networks_rtx3090: {
    source: 'timm',
    board: 'RTX 3090',
    about: 'inference throughput of image networks; samples/s, ms, 1e9 multiply-adds, 1e6 activations and parameters',
    traps: timmTraps,
    row: throughputOfNetworks,
  },
  throughput_networks_rtx4090: {
    source: 'timm',
    board: 'RTX 4090',
    about: 'the same',
    traps: timmTraps,
    row: throughputOfNetworks,
  },
  throughput_networks_rtx5090: {
    source: 'timm',
    board: 'RTX 5090',
    about: 'the same',
    traps: timmTraps,
    row: throughputOfNetworks,
  },
  throughput_networks_pro6000: {
    source: 'timm',
    board: 'RTX PRO 6000 Blackwell Max-Q',
    about: 'the same',
    traps: timmTraps,
    row: throughputOfNetworks,
  },
  throughput_resnet_batch: {
    source: 'deep-learning-examples',
    board: 'A100 SXM4, V100 SXM2 16 GB, V100 32 GB',
    about: 'ResNet-50 and others by batch size; images/s, ms per batch',
    traps: 'eager PyTorch is bound by launches up to batch 16 to 32; some V100 entries repeat figures of the A100',
    row: z.strictObject({
      framework: text,
      network: text,
      board: text,
      precision: text,
      batch_size: number,
      images_per_s: number,
      latency_mean_ms: numberOrNull,
      latency_p50_ms: numberOrNull,
      latency_p90_ms: numberOrNull,
      latency_p95_ms: numberOrNull,
      latency_p99_ms: numberOrNull,
    }),
  },
  sharing_training_pairs: {
    source: 'gavel',
    board: 'V100 16 GB',
    about: 'two training jobs on one board, and each alone (no job_b); steps/s',
    traps: '0 means that the pair did not fit in memory; solo and joint runs come from different sessions',
    row: z.strictObject({
      board: text,
      job_a: text,
      batch_a: numberOrNull,
      job_b: textOrNull,
      batch_b: numberOrNull,
      steps_per_s_a_alone: number,
      steps_per_s_b_alone: numberOrNull,
      steps_per_s_a: numberOrNull,
      steps_per_s_b: numberOrNull,
    }),
  },
  sensor_boards: {
    source: 'gpu-power-benchmark',
    board: 'see board',
    about: 'properties of NVML power by board and driver: period, delay, window, gain and offset; ms, W, %',
    traps: 'gain is of a single unit, not a model; rows without gain had no meter; A100: a 25 ms window every 100 ms',
    row: z.strictObject({
      board: text,
      meter: text,
      driver: text,
      reading: text,
      update_period_ms: number,
      rise_time_ms: numberOrNull,
      delay_time_ms: numberOrNull,
      gain: numberOrNull,
      offset_w: numberOrNull,
      r2: numberOrNull,
      steady_error_pct: numberOrNull,
      delay_mean_ms: numberOrNull,
      window_mean_ms: numberOrNull,
      window_median_ms: numberOrNull,
      window_std_ms: numberOrNull,
      window_meter_mean_ms: numberOrNull,
      energy_error_mean_pct: numberOrNull,
      energy_error_std_pct: numberOrNull,
    }),
  },
  sensor_step_response: {
    source: 'gpu-power-benchmark',
    board: 'RTX 3090, A100 PCIe 40GB',
    about: 'power, clock and temperature over one load step at 0 ms, at the meter and by NVML; ms, W, MHz, degrees C',
    traps: 'meter and NVML are aligned to some tens of ms; the idle before the step is at a high clock',
    row: z.strictObject({
      board: text,
      t_ms: number,
      meter_w: number,
      nvml_draw_w: number,
      nvml_average_w: numberOrNull,
      nvml_instant_w: number,
      sm_clock_mhz: number,
      temperature_c: number,
    }),
  },
  llm_operators: {
    source: 'vidur',
    board: 'A100 80GB SXM',
    about: 'time of one transformer layer by operator and token count; ms',
    traps:
      'rounded to 1 us; some token counts twice; gated models have gate and up in mlp_up_proj; no attention over a cache',
    row: z.strictObject({
      board: text,
      model: text,
      n_embd: number,
      n_expanded_embd: number,
      n_head: number,
      n_kv_head: number,
      tensor_parallel: number,
      num_tokens: number,
      attn_pre_proj_ms: number,
      attn_rope_ms: number,
      attn_post_proj_ms: number,
      mlp_up_proj_ms: number,
      mlp_act_ms: number,
      mlp_down_proj_ms: number,
      input_layernorm_ms: number,
      post_attention_layernorm_ms: numberOrNull,
      add_ms: number,
      emb_ms: number,
    }),
  },
  llm_serving_times: {
    source: 'splitwise-sim',
    board: 'A100 80GB, 2, 4 or 8 of them',
    about: 'prefill and token times by prompt and batch; ms, power relative to rated power',
    traps: 'the source does not state the base of relative power; rated power fits',
    row: z.strictObject({
      model: text,
      board: text,
      tensor_parallel: number,
      prompt_tokens: number,
      batch_size: number,
      output_tokens: number,
      runs: number,
      prefill_ms: number,
      per_token_ms: number,
      end_to_end_ms: number,
      power_mean_rel: numberOrNull,
      power_peak_rel: numberOrNull,
    }),
  },
  arrivals_azure_llm_conv: {
    source: 'azure-llm-2023',
    board: 'none',
    about: 'arrivals of a conversation service, first ten minutes of 16 November 2023; s, tokens',
    traps: 'one sampled service, no model named; the rate varies by minute',
    row: arrivals,
  },
  arrivals_azure_llm_code: {
    source: 'azure-llm-2023',
    board: 'none',
    about: 'arrivals of a code completion service, first ten minutes of 16 November 2023; s, tokens',
    traps: 'bursts with quiet gaps; short outputs, long prompts',
    row: arrivals,
  },
}
