import { serverPolicyNames } from '@pctodl/bench-runner/server'
import type { CapFrom, Disturbance } from '../run/run-question.js'
import type { AskedService } from '../services/asked-service.js'
import { firstServices } from '../services/asked-service.js'

export type ServicePolicyName = Exclude<(typeof serverPolicyNames)[number], `${string}fixed-clock`>

/** The policies that a page can run: those of `bench-runner --set services` that need no search before the run. */
export const servicePolicyNames: readonly ServicePolicyName[] = serverPolicyNames.filter(
  (name): name is ServicePolicyName => !name.endsWith('fixed-clock'),
)

/** All inputs that determine a run of services. */
export interface ServicesRunQuestion {
  readonly board: string
  /**
   * Name of a task of `bench-runner --set services`, which sets services, caps and duration; null for custom services.
   */
  readonly task: string | null
  /** Custom services. They are ignored if a task is named. */
  readonly services: readonly AskedService[]
  /**
   * For custom services only: variance of the time between requests, divided by the square of its mean; 1 for
   * independent users.
   */
  readonly burstiness: number
  /** Caps and their start times. Null for the caps of the task; custom services always have caps. */
  readonly caps: readonly CapFrom[] | null
  readonly policies: readonly ServicePolicyName[]
  /** Factor on the request rates of all services. */
  readonly loadFactor: number
  /** Seed of the arrivals and of the board. */
  readonly seed: number
  /** For custom services only: duration of the run, s. */
  readonly durationS: number
  readonly disturbances: readonly Disturbance[]
  /** Start times of bursts, s. During a burst, all services receive three times their request rate. */
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

/** Default cap for custom services, W. */
export const USUAL_CAP_W = 250
