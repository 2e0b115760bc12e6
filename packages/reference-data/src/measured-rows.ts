/** Rows of the measured tables. Units are part of the column names; null is a value that the source does not state. */
export interface MeasuredRows {
  readonly cap_sweep_llm: CapSweepLlmRow
  readonly cap_sweep_training: CapSweepTrainingRow
  readonly cap_sweep_diffusion_v100: CapSweepDiffusionV100Row
  readonly mlperf_power_pairs: MlperfPowerPairsRow
  readonly mlperf_throughput: MlperfThroughputRow
  readonly mlperf_mig_neighbours: MlperfMigNeighboursRow
  readonly throughput_networks_rtx3090: NetworkThroughputRow
  readonly throughput_networks_rtx4090: NetworkThroughputRow
  readonly throughput_networks_rtx5090: NetworkThroughputRow
  readonly throughput_networks_pro6000: NetworkThroughputRow
  readonly throughput_resnet_batch: ThroughputResnetBatchRow
  readonly sharing_training_pairs: SharingTrainingPairsRow
  readonly sensor_boards: SensorBoardsRow
  readonly sensor_step_response: SensorStepResponseRow
  readonly llm_operators: LlmOperatorsRow
  readonly llm_serving_times: LlmServingTimesRow
  readonly arrivals_azure_llm_conv: ArrivalRow
  readonly arrivals_azure_llm_code: ArrivalRow
}

/** Throughput of one network on one board, from timm's inference benchmark. */
export interface NetworkThroughputRow {
  readonly board: string
  readonly precision: string
  readonly layout: string
  readonly torch: string
  readonly cuda: string
  readonly compile: string
  readonly model: string
  readonly img_size: number
  readonly batch_size: number | null
  readonly samples_per_s: number | null
  readonly step_ms: number | null
  readonly gmacs: number
  readonly macts_m: number
  readonly params_m: number
}

/** One request of a recorded service. */
export interface ArrivalRow {
  readonly t_s: number
  readonly prompt_tokens: number
  readonly output_tokens: number
}

export interface CapSweepLlmRow {
  readonly board: string
  readonly workload: string
  readonly cap_w: number
  readonly throughput_tok_s: number
  readonly throughput2_tok_s: number | null
  readonly power_w: number
  readonly sm_clock_mhz: number
}

export interface CapSweepTrainingRow {
  readonly board: string
  readonly dataset: string
  readonly network: string
  readonly batch_size: number
  readonly optimizer: string
  readonly cap_w: number
  readonly epoch_s: number
  readonly power_w: number
}

export interface CapSweepDiffusionV100Row {
  readonly workload: string
  readonly cap_w: number
  readonly runs: number
  readonly cold_s: number
  readonly warm_avg_s: number
  readonly warm_best_s: number
  readonly peak_hbm_c: number
  readonly peak_core_c: number
  readonly peak_power_w: number
  readonly min_sm_clock_mhz: number
  readonly mean_sm_pct: number
  readonly aborted: number
}

/** One MLPerf inference result. */
interface MlperfRow {
  readonly round: string
  readonly system: string
  readonly board: string
  readonly benchmark: string
  readonly scenario: string
  readonly valid: string
  readonly throughput_per_s: number | null
  readonly latency_mean_ms: number | null
  readonly latency_p50_ms: number | null
  readonly latency_p90_ms: number | null
  readonly latency_p99_ms: number | null
}

export interface MlperfPowerPairsRow extends MlperfRow {
  readonly pair: string
  readonly mode: string
  readonly submitter: string
  readonly gpus: number
  readonly power_limit_configured_w: number | null
  readonly batch_size: number | null
  readonly wall_power_mean_w: number | null
  readonly wall_power_max_w: number | null
  readonly wall_power_min_w: number | null
  readonly wall_power_samples: number | null
  readonly run_s: number | null
}

export interface MlperfThroughputRow extends MlperfRow {
  readonly submitter: string
  readonly gpus: number
  readonly batch_size: number | null
  readonly software: string
}

export interface MlperfMigNeighboursRow extends MlperfRow {
  readonly slice: string
  readonly neighbours: string
}

export interface ThroughputResnetBatchRow {
  readonly framework: string
  readonly network: string
  readonly board: string
  readonly precision: string
  readonly batch_size: number
  readonly images_per_s: number
  readonly latency_mean_ms: number | null
  readonly latency_p50_ms: number | null
  readonly latency_p90_ms: number | null
  readonly latency_p95_ms: number | null
  readonly latency_p99_ms: number | null
}

export interface SharingTrainingPairsRow {
  readonly board: string
  readonly job_a: string
  readonly batch_a: number | null
  readonly job_b: string | null
  readonly batch_b: number | null
  readonly steps_per_s_a_alone: number
  readonly steps_per_s_b_alone: number | null
  readonly steps_per_s_a: number | null
  readonly steps_per_s_b: number | null
}

export interface SensorBoardsRow {
  readonly board: string
  readonly meter: string
  readonly driver: string
  readonly reading: string
  readonly update_period_ms: number
  readonly rise_time_ms: number | null
  readonly delay_time_ms: number | null
  readonly gain: number | null
  readonly offset_w: number | null
  readonly r2: number | null
  readonly steady_error_pct: number | null
  readonly delay_mean_ms: number | null
  readonly window_mean_ms: number | null
  readonly window_median_ms: number | null
  readonly window_std_ms: number | null
  readonly window_meter_mean_ms: number | null
  readonly energy_error_mean_pct: number | null
  readonly energy_error_std_pct: number | null
}

export interface SensorStepResponseRow {
  readonly board: string
  readonly t_ms: number
  readonly meter_w: number
  readonly nvml_draw_w: number
  readonly nvml_average_w: number | null
  readonly nvml_instant_w: number
  readonly sm_clock_mhz: number
  readonly temperature_c: number
}

export interface LlmOperatorsRow {
  readonly board: string
  readonly model: string
  readonly n_embd: number
  readonly n_expanded_embd: number
  readonly n_head: number
  readonly n_kv_head: number
  readonly tensor_parallel: number
  readonly num_tokens: number
  readonly attn_pre_proj_ms: number
  readonly attn_rope_ms: number
  readonly attn_post_proj_ms: number
  readonly mlp_up_proj_ms: number
  readonly mlp_act_ms: number
  readonly mlp_down_proj_ms: number
  readonly input_layernorm_ms: number
  readonly post_attention_layernorm_ms: number | null
  readonly add_ms: number
  readonly emb_ms: number
}

export interface LlmServingTimesRow {
  readonly model: string
  readonly board: string
  readonly tensor_parallel: number
  readonly prompt_tokens: number
  readonly batch_size: number
  readonly output_tokens: number
  readonly runs: number
  readonly prefill_ms: number
  readonly per_token_ms: number
  readonly end_to_end_ms: number
  readonly power_mean_rel: number | null
  readonly power_peak_rel: number | null
}
