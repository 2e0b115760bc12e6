export interface Job {
  readonly id: number
  readonly model: string
  readonly arrivalS: number
  readonly iterations: number
  readonly gpus: number
}
