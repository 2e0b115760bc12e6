import type { Service } from '@pctodl/platform'

export const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 60 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 2,
}

export const photos: Service = { ...search, name: 'photos', model: 'mobilenet_v2' }
