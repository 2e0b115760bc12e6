/** Commands that are binaries of their own packages, too, by their names here. */
export const binaries = {
  predict: 'pctodl-predict',
  fit: 'pctodl-fit',
  partition: 'pctodl-partition',
  profile: 'pctodl-profile',
  run: 'pctodl-run',
  bench: 'bench-runner',
  gpu: 'pctodl-gpu',
  mps: 'pctodl-mps',
  node: 'pctodld',
  sim: 'pctodl-gpu-sim',
  segments: 'pctodl-segments',
  colocate: 'pctodl-colocate',
  hetero: 'pctodl-hetero',
  sensitivity: 'pctodl-sensitivity',
  report: 'pctodl-report',
  'export-onnx': 'pctodl-export-onnx',
} as const
