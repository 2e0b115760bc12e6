/** The cores: what they are for works on numbers alone, so that a page can have it. */
export const browserCores: readonly string[] = [
  '@pctodl/platform',
  '@pctodl/numerics',
  '@pctodl/traffic',
  '@pctodl/gpu-sim',
  '@pctodl/perf-model',
  '@pctodl/perf-model/llm',
  '@pctodl/perf-model/serving',
  '@pctodl/greedy-partition',
  '@pctodl/greedy-partition/services',
  '@pctodl/thermo-dvfs',
  '@pctodl/scheduler',
  '@pctodl/baselines',
  '@pctodl/report/evaluate',
  '@pctodl/run/policy',
  '@pctodl/bench-runner/server',
  '@pctodl/resource-sensitivity/engine',
]
