export type { LinearConstraint, LinearProgram, Term, Variable } from './linear-program.js'
export { type Answer, loadSolver } from './solver.js'
export { SolverError } from './certify.js'
