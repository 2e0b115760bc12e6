// Runs of a real job under limits: what `profileJob` asks for.

export { assertContainerRuntime, type ContainerOptions, dataInContainer, dataOnHost } from './limits/container.js'
// The limits themselves.
export { allowedCpus, withCpus } from './limits/cpu-affinity.js'
export { cgroupRoot, createMemoryGroup, type MemoryGroup } from './limits/memory-group.js'
export { measureDataset } from './runs/dataset-size.js'
export { measureMemoryGBps, measureStorageMBps, rememberedRate } from './runs/read-rates.js'
export { RunLog } from './runs/run-log.js'
export { type RunSetting, runTraining } from './runs/run-training.js'
export { assertScript, optionAmong, type TrainingJob } from './runs/training-command.js'
