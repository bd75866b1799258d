import { quantile } from '../numbers.mjs'

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The standard deviation of a sample; 0 for a single value. */
export function spread(values) {
  if (values.length < 2) return 0
  const middle = mean(values)
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1))
}

export function quantileOf(values, share) {
  return quantile(Float64Array.from(values).sort(), share)
}
