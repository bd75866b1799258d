import { defineProjection, isEvent, type EventSchema } from '@tidemark/session-core'
import { z } from 'zod'

/** Raises the label of the session that it stands in. One that is lower than what was reached changes nothing. */
export interface LabelRaised {
  readonly label: string
}

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'label/raised': LabelRaised
  }
}

/** Its type: required, so that no program goes on with a log whose label it does not know. */
export const labelRaisedType = 'label/raised'

/** Different labels in one log: over the years a configuration may change its names. */
export const raisedMax = 256

const raised = z.array(z.string().max(100)).max(raisedMax)

/**
 * The labels that a log was raised to, each once. Their order is the configuration's, so the highest is looked for
 * when it is asked for. History that is no such event fails the projection: then no label is told.
 */
export const raisedLabels = defineProjection<readonly string[]>({
  name: 'continuity/labels',
  version: 1,
  init: () => [],
  apply: (labels, event) => {
    if (!isEvent(event, labelRaisedType) || labels.includes(event.data.label)) return labels
    return raised.parse([...labels, event.data.label])
  },
})

/** A label that the configuration does not name is not recorded. */
export function labelRaisedSchema(names: readonly string[]): EventSchema {
  return z.strictObject({ label: z.enum([...names]) })
}
