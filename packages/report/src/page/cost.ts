const JOULES_PER_KWH = 3.6e6
/** Assumed price of electricity for industry, USD/kWh. Costs at another price are proportional. */
const PRICE_PER_KWH = 0.15
/** Emissions of electricity, world average of 2023, kg CO2 equivalent/kWh (Ember, Global Electricity Review 2024). */
const CARBON_KG_PER_KWH = 0.48

export interface ImageCost {
  readonly priceUsd: number
  readonly carbonKg: number
}

export function costOfMillionImages(energyPerImageJ: number): ImageCost {
  const energyKwh = (energyPerImageJ * 1e6) / JOULES_PER_KWH
  return { priceUsd: energyKwh * PRICE_PER_KWH, carbonKg: energyKwh * CARBON_KG_PER_KWH }
}

export const costFactors: string = `${PRICE_PER_KWH} USD and ${CARBON_KG_PER_KWH} kg CO2 per kWh`
