/**
 * Examples that need a board, run on a simulated host: the words after the file. The others are loaded, and the functions that
 * they define are called as their READMEs do.
 */
export const examplesOnHost: Readonly<Record<string, readonly string[]>> = {
  'node-service': [],
  'nvml-control': [],
  'mps-control': ['pctodl', 'sim', 'tenant', '--network', 'mobilenet_v2', '--batch', '8', '--seconds', '4'],
}
export const exampleCalls: Readonly<Record<string, { readonly call: string; readonly answer: RegExp }>> = {
  backend: { call: "watchBoard('A100')", answer: /simulated .*: \d+ W at \d+ MHz/ },
  baselines: { call: 'clocksUnder(150, 200)', answer: /\d/ },
  'greedy-partition': { call: "plan('3080Ti', 'resnet50', 200)", answer: /samples\/s, 19\d\.\d W/ },
  'hetero-training': { call: 'plan(0.3)', answer: /\d+ on big at \d+ W.*the knee of/ },
  'job-array': { call: 'squares([3, 4])', answer: /4: 16/ },
  'mig-segments': { call: "plan('A100', 1)", answer: /^"?\d+ GPUs/ },
  playground: { call: "besideResults('.')", answer: /playground.index\.html/ },
  profiler: { call: "alongTheClock('resnet50')", answer: /\d+ MHz: \d+\.\d\/J/ },
  'thermo-dvfs': { call: 'track(150)', answer: /settled/ },
}

export function needsHost(name: string): boolean {
  return Object.hasOwn(examplesOnHost, name)
}
