import type { EnabledBy } from './storage.ts'

/** Whether persistence is on, and what switched it on. */
export type Switch = { readonly kind: 'off' } | { readonly kind: 'on'; readonly by: EnabledBy }

/** The environment variable that decides where the configuration does not. */
export const switchVariable = 'TIDEMARK_SHARED_RUNTIME'

/** Off unless the configuration says on, or says nothing while the variable is exactly `1`. */
export function decideSwitch(enabled: boolean | undefined, variable: string | undefined): Switch {
  if (enabled !== undefined) return enabled ? { kind: 'on', by: 'config' } : { kind: 'off' }
  return variable === '1' ? { kind: 'on', by: 'env' } : { kind: 'off' }
}
