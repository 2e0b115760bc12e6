import type { Highs, HighsCallbackMap, InterruptCallbackEvent, Model, ModelData } from 'highs'
import { certify, SolverError } from './certify.js'
import { assertProgram, type LinearProgram } from './linear-program.js'

export interface SolveOptions {
  /**
   * Maximum simplex iterations over all linear programs of the search. It limits work instead of time, so that every
   * machine gives the same answer. The solver checks the limit only from time to time and may exceed it slightly.
   * Default: none.
   */
  readonly maxIterations?: number
  /** An answer counts as optimal if its objective is this close to the bound. Default 1e-9. */
  readonly absoluteGap?: number
  /** Maximum violation of a constraint, relative to its largest term and to 1. Default 1e-6. */
  readonly tolerance?: number
}

/** Result of a search. */
export interface Answer {
  /**
   * `optimal`: `values` are optimal; `limited`: the iteration limit was reached, `values` are the best found or null;
   * `infeasible`: nothing satisfies the constraints; `unbounded`: the objective has no limit.
   */
  readonly status: 'optimal' | 'limited' | 'infeasible' | 'unbounded'
  /** Value of each variable, verified against the program; null if no solution was found. */
  readonly values: Float64Array | null
  /** Objective of `values`; NaN if `values` is null. */
  readonly objective: number
  /**
   * Bound on the objective of any solution: a lower bound when minimizing, an upper bound when maximizing. Infinite if
   * unknown, NaN if infeasible.
   */
  readonly bound: number
}

export interface Solver {
  /**
   * Solve a program, blocking until done. Equal programs and options give bitwise equal answers.
   *
   * @throws InvalidInputError for an invalid program
   * @throws SolverError if the solver fails or its answer does not verify
   */
  solve(program: LinearProgram, options?: SolveOptions): Answer
}

/** The solver is loaded once, on first use, because loading takes about 100 ms. */
let loading: Promise<Highs> | undefined

/** Loads HiGHS (WebAssembly, one thread), in Node or in a browser. */
export async function loadSolver(): Promise<Solver> {
  loading ??= import('highs').then(({ default: load }) => load())
  const highs = await loading
  return { solve: (program, options = {}) => solve(highs, program, options) }
}

function solve(highs: Highs, program: LinearProgram, options: SolveOptions): Answer {
  assertProgram(program)
  const { maxIterations = Number.POSITIVE_INFINITY, absoluteGap = 1e-9, tolerance = 1e-6 } = options
  const integer = program.variables.some(({ whole }) => whole)
  if (program.variables.length === 0) return withoutVariables(program)
  return highs.withModel(modelOf(highs, program), (model) => {
    model.options.set({
      output_flag: false,
      mip_rel_gap: 0,
      mip_abs_gap: absoluteGap,
      mip_feasibility_tolerance: tolerance,
      primal_feasibility_tolerance: Math.min(tolerance, 1e-7),
      ...(!integer && Number.isFinite(maxIterations) && { simplex_iteration_limit: maxIterations }),
    })
    const callbacks: HighsCallbackMap = {
      [highs.constants.callbackType.mipInterrupt]: ({ data, interrupt }: InterruptCallbackEvent) => {
        if (Number(data.mip_total_lp_iterations ?? 0) >= maxIterations) interrupt()
        return undefined
      },
    }
    model.run(callbacks)
    if (model.getModelStatus() === highs.constants.modelStatus.unboundedOrInfeasible) {
      // Presolve does not distinguish unbounded from infeasible programs; the simplex method does.
      model.options.set({ presolve: 'off' })
      model.run(callbacks)
    }
    return answerOf(highs, model, program, integer, tolerance)
  })
}

/** Answers a program without variables, in which all sums are 0. HiGHS would only report such a model as empty. */
function withoutVariables({ constraints }: LinearProgram): Answer {
  const kept = constraints.every(({ atLeast = 0, atMost = 0 }) => atLeast <= 0 && atMost >= 0)
  return kept
    ? { status: 'optimal', values: new Float64Array(0), objective: 0, bound: 0 }
    : { status: 'infeasible', values: null, objective: Number.NaN, bound: Number.NaN }
}

function modelOf(highs: Highs, { sense, variables, constraints }: LinearProgram): ModelData {
  const { objectiveSense, variableType } = highs.constants
  const starts = [0]
  const indices: number[] = []
  const values: number[] = []
  for (const { terms } of constraints) {
    for (const [variable, coefficient] of terms) {
      if (coefficient === 0) continue
      indices.push(variable)
      values.push(coefficient)
    }
    starts.push(indices.length)
  }
  const [numRows, numCols] = [constraints.length, variables.length]
  return {
    numCols,
    numRows,
    sense: sense === 'minimize' ? objectiveSense.minimize : objectiveSense.maximize,
    colCost: variables.map(({ objective }) => objective),
    colLower: variables.map(({ atLeast = 0 }) => atLeast),
    colUpper: variables.map(({ atMost = Number.POSITIVE_INFINITY }) => atMost),
    rowLower: constraints.map(({ atLeast = Number.NEGATIVE_INFINITY }) => atLeast),
    rowUpper: constraints.map(({ atMost = Number.POSITIVE_INFINITY }) => atMost),
    matrix: { format: 'csr', numRows, numCols, starts, indices, values },
    ...(variables.some(({ whole }) => whole) && {
      integrality: variables.map(({ whole }) => (whole === true ? variableType.integer : variableType.continuous)),
    }),
  }
}

function answerOf(highs: Highs, model: Model, program: LinearProgram, integer: boolean, tolerance: number): Answer {
  const { modelStatus } = highs.constants
  const status = model.getModelStatus()
  const worst = program.sense === 'minimize' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  if (status === modelStatus.infeasible)
    return { status: 'infeasible', values: null, objective: Number.NaN, bound: Number.NaN }
  if (status === modelStatus.unbounded) {
    return { status: 'unbounded', values: null, objective: Number.NaN, bound: worst }
  }
  const optimal = status === modelStatus.optimal
  if (
    !optimal &&
    status !== modelStatus.interrupted &&
    status !== modelStatus.iterationLimit &&
    status !== modelStatus.solutionLimit
  ) {
    throw new SolverError(`the solver ended with status ${status}`)
  }
  const { colValue } = model.getSolution()
  const found = Number(model.info.get('primal_solution_status')) === 2 && colValue && colValue.length > 0
  const values = found ? Float64Array.from(colValue) : null
  if (optimal && values === null) throw new SolverError('the solver calls nothing an optimum')
  const objective = values === null ? Number.NaN : certify(program, values, 10 * tolerance)
  const dualBound = integer ? Number(model.info.get('mip_dual_bound')) : optimal ? objective : worst
  const bound = Number.isFinite(dualBound) ? dualBound : optimal ? objective : worst
  return { status: optimal ? 'optimal' : 'limited', values, objective, bound }
}
