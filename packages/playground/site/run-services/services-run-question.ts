import { serverPolicyNames } from '@pctodl/bench-runner/server'
import type { CapFrom, Disturbance } from '../run/run-question.js'
import type { AskedService } from '../services/asked-service.js'
import { firstServices } from '../services/asked-service.js'

export type ServicePolicyName = Exclude<(typeof serverPolicyNames)[number], 'fixed-clock'>

/** The policies that a page can run: those of `bench-runner --set services` that need no search beforehand. */
export const servicePolicyNames: readonly ServicePolicyName[] = serverPolicyNames.filter(
  (name) => name !== 'fixed-clock',
)

/** All parameters that determine a run of services. */
export interface ServicesRunQuestion {
  readonly board: string
  /** Name of a task of `bench-runner --set services`, with its services, caps and length; null for custom services. */
  readonly task: string | null
  /** Custom services; a task has its own. */
  readonly services: readonly AskedService[]
  /** Custom services: variance of the gaps between requests over their squared mean; 1 for independent users. */
  readonly burstiness: number
  /** Null for the task's caps; custom services always have some. */
  readonly caps: readonly CapFrom[] | null
  readonly policies: readonly ServicePolicyName[]
  /** Common factor on all rates. */
  readonly loadFactor: number
  /** Seed of the arrivals and of the board. */
  readonly seed: number
  /** Of services of one's own, s. */
  readonly durationS: number
  readonly disturbances: readonly Disturbance[]
  /** Times from which all services get three times their rate for a while, s. */
  readonly bursts: readonly number[]
}

export const firstServicesRun: ServicesRunQuestion = {
  board: '3080Ti',
  task: 'bursts',
  services: firstServices,
  burstiness: 1,
  caps: null,
  policies: ['pctodl', 'equal-shares'],
  loadFactor: 1,
  seed: 1,
  durationS: 60,
  disturbances: [],
  bursts: [],
}

/** Default cap of custom services, W. */
export const USUAL_CAP_W = 250
