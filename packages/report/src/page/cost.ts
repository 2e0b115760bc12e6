/** What a joule costs, beside itself. */
export interface CostFactors {
  /** Price of electricity per kWh, in the currency that the report names. */
  readonly pricePerKwh: number
  readonly currency: string
  /** Emissions of electricity, kg CO2 equivalent per kWh. */
  readonly carbonKgPerKwh: number
}

/**
 * The world's electricity emitted 0.48 kg CO2 per kWh in 2023 (Ember, Global Electricity Review 2024). The price is a plain
 * assumption for industry; put in your own.
 */
export const usualCostFactors: CostFactors = { pricePerKwh: 0.15, currency: 'USD', carbonKgPerKwh: 0.48 }

const JOULES_PER_KWH = 3.6e6

export interface ImageCost {
  /** Of one million images. */
  readonly energyKwh: number
  readonly price: number
  readonly carbonKg: number
}

export function costOfMillionImages(energyPerImageJ: number, factors: CostFactors): ImageCost {
  const energyKwh = (energyPerImageJ * 1e6) / JOULES_PER_KWH
  return { energyKwh, price: energyKwh * factors.pricePerKwh, carbonKg: energyKwh * factors.carbonKgPerKwh }
}
