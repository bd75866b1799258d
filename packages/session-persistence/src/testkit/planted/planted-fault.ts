import type { Subject } from '../subject.ts'

/** A fault that a campaign must find, or its silence proves nothing. */
export interface PlantedFault {
  readonly name: string
  readonly campaign: 'crash' | 'damage' | 'fault'
  /** The subject with the fault in it. */
  readonly plant: (subject: Subject) => Subject
}
