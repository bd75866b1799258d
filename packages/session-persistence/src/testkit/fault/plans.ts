import type { DiskCall, DiskCallName, DiskFault } from '../disk/fault.ts'

/** One kind of fault, and the calls that can meet it. */
export interface FaultKind {
  readonly name: string
  readonly fault: DiskFault
  readonly calls: readonly DiskCallName[]
}

const changing: readonly DiskCallName[] = ['create', 'mkdir', 'rename', 'link', 'write', 'sync', 'syncFolder']
const opening: readonly DiskCallName[] = ['open', 'create', 'readdir', 'syncFolder']
const everything: readonly DiskCallName[] = [
  ...['open', 'create', 'stat', 'realpath', 'readdir', 'mkdir', 'rmdir', 'rename', 'link', 'unlink'],
  ...['chmod', 'syncFolder', 'read', 'write', 'sync', 'fstat', 'fchmod', 'close', 'networkFs'],
] as DiskCallName[]

const refused = (code: string): DiskFault => ({ kind: 'refused', code })

/** What a system may answer, each where it may. */
const faultKinds: readonly FaultKind[] = [
  { name: 'EIO', fault: refused('EIO'), calls: everything },
  { name: 'ENOSPC', fault: refused('ENOSPC'), calls: changing },
  { name: 'EDQUOT', fault: refused('EDQUOT'), calls: changing },
  { name: 'EROFS', fault: refused('EROFS'), calls: [...changing, 'rmdir', 'unlink', 'chmod', 'fchmod'] },
  {
    name: 'EACCES',
    fault: refused('EACCES'),
    calls: [...opening, 'stat', 'realpath', 'mkdir', 'rename', 'unlink'],
  },
  { name: 'EMFILE', fault: refused('EMFILE'), calls: opening },
  { name: 'EINTR', fault: refused('EINTR'), calls: [...opening, 'read', 'write', 'sync', 'close'] },
  { name: 'short write', fault: { kind: 'short' }, calls: ['write'] },
  {
    name: 'failed sync, pages clean',
    fault: { kind: 'refused', code: 'EIO', pages: 'clean' },
    calls: ['sync'],
  },
  {
    name: 'failed sync, pages dropped',
    fault: { kind: 'refused', code: 'EIO', pages: 'dropped' },
    calls: ['sync'],
  },
  { name: 'failed close', fault: refused('EIO'), calls: ['close'] },
]

/** A fault at one call; `isForGood`: and at every later one that can meet it. */
export interface FaultPlan {
  readonly kind: FaultKind
  readonly at: number
  readonly isForGood: boolean
}

/** Every fault at every one of these calls, once and for good. */
export function* plansFor(calls: readonly DiskCall[]): Generator<FaultPlan, void> {
  for (const { index, name } of calls) {
    for (const kind of faultKinds) {
      if (!kind.calls.includes(name)) continue
      for (const isForGood of [false, true]) yield { kind, at: index, isForGood }
    }
  }
}

export function planned({ kind, at, isForGood }: FaultPlan): (call: DiskCall) => DiskFault | undefined {
  return ({ index, name }) => {
    const isTurn = isForGood ? index >= at : index === at
    return isTurn && kind.calls.includes(name) ? kind.fault : undefined
  }
}
