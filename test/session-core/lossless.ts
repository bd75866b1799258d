/**
 * Where a value is not lossless JSON, found in the plainest way: every key, every descriptor. `undefined` when it is.
 * Only for values that are not nested into themselves.
 */
export function naiveLoss(value: unknown, isProxy: (value: unknown) => boolean): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0) ? undefined : ''
  if (typeof value !== 'object' || isProxy(value)) return ''
  const isArray = Array.isArray(value)
  if (Object.getPrototypeOf(value) !== (isArray ? Array.prototype : Object.prototype)) return ''
  const keys = Reflect.ownKeys(value)
  if (isArray && keys.length !== value.length + 1) return ''
  for (const key of keys) {
    if (typeof key === 'symbol' || (isArray && key === 'length')) continue
    const property = Reflect.getOwnPropertyDescriptor(value, key)
    const isPlain = property !== undefined && 'value' in property && property.enumerable === true
    const loss = isPlain ? naiveLoss(property.value, isProxy) : ''
    if (loss === undefined) continue
    const isName = /^[a-z][A-Za-z]{0,23}$/.test(key)
    return (isArray ? `[${key}]` : isName ? `.${key}` : '.(key)') + loss
  }
  return keys.some((key) => typeof key === 'symbol') ? '' : undefined
}
