import { factorise, inverseFromFactor, type LeastSquaresProblem, type LevenbergMarquardtResult } from '@pctodl/numerics'
import type { Belief } from '../parameters.js'
import type { ModelObjective, Slot } from './model-objective.js'

/**
 * Upper factor of the precision of what is believed before new rows: of each owner's parameters what refits have left of their
 * uncertainty, and of those that no refit has moved that they are right to `freedom`, independently.
 */
export function priorFactor(
  beliefs: readonly Belief[],
  quantity: Belief['quantity'],
  freedom: number,
  ownerOf: (slot: Slot) => string,
): (slots: readonly Slot[]) => Float64Array {
  return (slots) => {
    const n = slots.length
    const factor = new Float64Array(n * n)
    for (const { owner, at } of byOwner(slots, ownerOf)) {
      const found = beliefs.find((entry) => entry.owner === owner && entry.quantity === quantity)
      const names = at.map((j) => nameOf(slots[j]!))
      const size = at.length
      if (found === undefined || found.parameters.join() !== names.join() || found.covariance.length !== size * size) {
        for (const j of at) factor[j * n + j] = 1 / freedom
        continue
      }
      const covariance = Float64Array.from(found.covariance)
      factorise(covariance, size)
      const precision = inverseFromFactor(covariance, size)
      factorise(precision, size)
      // The transpose of the lower factor.
      at.forEach((j, a) => {
        at.forEach((k, b) => {
          if (b >= a) factor[j * n + k] = precision[b * size + a]!
        })
      })
    }
    return factor
  }
}

/**
 * What is believed after new rows: the inverse of the curvature at the most likely point (the Laplace approximation: C. Rasmussen
 * and C. Williams, Gaussian Processes for Machine Learning, 2006, section 3.4), prior included, of each owner by itself. What two
 * networks' parameters owe to each other is not kept.
 */
export function beliefsAfter(
  objective: ModelObjective & LeastSquaresProblem,
  { parameters }: Pick<LevenbergMarquardtResult, 'parameters'>,
  huber: number,
  quantity: Belief['quantity'],
  ownerOf: (slot: Slot) => string,
): Belief[] {
  const n = objective.parameterCount
  const m = objective.residualCount
  const residuals = new Float64Array(m)
  const jacobian = new Float64Array(m * n)
  objective.residuals(parameters, residuals)
  objective.jacobian(parameters, residuals, jacobian)
  const precision = new Float64Array(n * n)
  for (let i = 0; i < m; i++) {
    // Beliefs are no outliers: the last rows are those of the prior.
    const weight = i < m - n ? Math.min(1, huber / Math.abs(residuals[i]!)) : 1
    for (let a = 0; a < n; a++) {
      const first = weight * jacobian[i * n + a]!
      if (first === 0) continue
      for (let b = 0; b <= a; b++) precision[a * n + b]! += first * jacobian[i * n + b]!
    }
  }
  factorise(precision, n)
  const covariance = inverseFromFactor(precision, n)
  return byOwner(objective.slots, ownerOf).map(({ owner, at }) => ({
    owner,
    quantity,
    parameters: at.map((j) => nameOf(objective.slots[j]!)),
    covariance: at.flatMap((j) => at.map((k) => Number(covariance[j * n + k]!.toPrecision(8)))),
  }))
}

/** The beliefs with some in the place of those of the same owners. */
export function replaced(beliefs: readonly Belief[], by: readonly Belief[]): Belief[] {
  const kept = beliefs.filter(
    (entry) => !by.some((other) => other.owner === entry.owner && other.quantity === entry.quantity),
  )
  return [...kept, ...by]
}

function byOwner(slots: readonly Slot[], ownerOf: (slot: Slot) => string) {
  const owners = new Map<string, number[]>()
  slots.forEach((slot, j) => {
    const owner = ownerOf(slot)
    owners.set(owner, [...(owners.get(owner) ?? []), j])
  })
  return [...owners].map(([owner, at]) => ({ owner, at }))
}

function nameOf({ key, memIndex }: Slot): string {
  return memIndex < 0 ? key : `${key}[${memIndex}]`
}
