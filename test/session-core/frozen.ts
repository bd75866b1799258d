/** Whether a value and everything in it is frozen. */
export function isDeepFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return (
    Object.isFrozen(value) && Reflect.ownKeys(value).every((key) => isDeepFrozen(Reflect.get(value, key)))
  )
}

/** Whether nothing in a value is frozen. */
export function isUnfrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return !Object.isFrozen(value) && Reflect.ownKeys(value).every((key) => isUnfrozen(Reflect.get(value, key)))
}
