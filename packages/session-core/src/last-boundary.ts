import { boundaryType } from './boundary.ts'
import { defineProjection } from './definition.ts'

/** The seq of the last boundary. */
export const lastBoundary = defineProjection<number | undefined>({
  name: 'boundary',
  version: 1,
  init: () => undefined,
  apply: (state, event) => (event.type === boundaryType ? event.seq : state),
})
