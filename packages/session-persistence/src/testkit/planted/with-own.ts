/** An object with some calls of one's own; the others are those of the object itself. */
export function withOwn<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(_, key) {
      if (Object.hasOwn(own, key)) return own[key as keyof T]
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
