import type { BracketNote } from './protocol.ts'
import type { Story } from './story.ts'

export interface Check {
  readonly title: string
  readonly outcome: 'ok' | 'FAILED' | 'skipped'
  /** What was found, where that helps. */
  readonly detail?: string
}

/** Every promise that the story puts to the test. */
export function checkStory(story: Story): readonly Check[] {
  return [
    ...checkKill(story),
    ...checkBrackets(story),
    ...checkCompaction(story),
    ...checkRestarts(story),
    ...checkOff(story),
  ]
}

function checkKill({ told, killed, resumed }: Story): Check[] {
  const { boundarySeqs, digests } = resumed.report
  const lost = told.digests.findIndex((digest, seq) => digests[seq] !== digest)
  const isWhole =
    told.digests.length === told.durableSeq + 1 && told.durableSeq === killed.report.eventCount - 1
  return [
    check('A was ended by a real SIGKILL', killed.exit.signal === 'SIGKILL', `signal ${killed.exit.signal}`),
    check('A had been told that all it recorded is durable', isWhole, `durable through ${told.durableSeq}`),
    check(
      `all events that A was told are durable (${told.digests.length}) are there, and equal`,
      lost < 0,
      lost < 0 ? undefined : `the event at ${lost} is not`,
    ),
    check(
      'B found exactly one session/resumed: its own, right after them',
      boundarySeqs.length === 1 &&
        boundarySeqs[0] === told.durableSeq + 1 &&
        digests.length === told.durableSeq + 2,
      `at ${boundarySeqs.join(', ')}`,
    ),
  ]
}

function checkBrackets({ killed, resumed }: Story): Check[] {
  const { compactStartSeq: seq, brackets, forkBrackets, forkedAtSeq } = killed.report
  const compacting = [
    ['while A lived its compaction was live', brackets, 'live'],
    ['in the fork that A made meanwhile it was orphaned at once', forkBrackets, 'orphaned'],
    ['after the kill it is orphaned for B', resumed.report.brackets, 'orphaned'],
    ['and in the fork, which was only looked at', resumed.report.forkBrackets, 'orphaned'],
  ] as const
  const isOrphaned = ({ status }: BracketNote): boolean => status === 'orphaned'
  return [
    ...compacting.map(([title, notes, status]) => {
      if (seq === undefined) return skipped(title, 'too little to compact')
      return check(
        title,
        notes.some((note) => note.bracket === 'compaction' && note.seq === seq && note.status === status),
      )
    }),
    check('nothing that A left open is live for B', resumed.report.brackets.every(isOrphaned)),
    check('the fork is marked where it was cut', resumed.report.forkBoundarySeq === forkedAtSeq + 1),
  ]
}

function checkCompaction({ resumed, killed }: Story): Check[] {
  const { compaction, before, after, unpaired, missingFacts } = resumed.report
  const { compactStartSeq, facts } = killed.report
  const checks = [
    check(
      `all pinned facts (${facts.length}) are in the transcript, word for word`,
      missingFacts.length === 0,
      missingFacts.join(' | '),
    ),
    check('in the transcript every call is followed by its result', unpaired === undefined, unpaired),
  ]
  if (compactStartSeq === undefined) return [skipped('B compacts', 'too little to compact'), ...checks]
  // The facts stay, however many they are.
  const sizeBytesBefore = before.sizeBytes - before.factsSizeBytes
  const sizeBytesAfter = after.sizeBytes - after.factsSizeBytes
  const sizes = `${sizeBytesBefore} bytes before, ${sizeBytesAfter} after`
  return [
    check(
      "B's compaction is applied, the orphaned one does not block it",
      compaction.outcome === 'applied',
      compaction.code,
    ),
    ...checks,
    check('the transcript is smaller than before, its facts apart', sizeBytesAfter < sizeBytesBefore, sizes),
  ]
}

function checkRestarts({ resumed, orderly }: Story): Check[] {
  const { boundarySeqs, lastSeqFound, untouched, missingFacts } = orderly.report
  const [first, ...later] = untouched
  const grown = later.some((each) => JSON.stringify(each) !== JSON.stringify(first))
  const exits = [resumed, orderly].map(({ exit }) => exit.code)
  return [
    check(
      'B and D ended in an orderly way',
      exits.every((code) => code === 0),
      `exit codes ${exits.join(', ')}`,
    ),
    check(
      'D found what B had been told is durable',
      lastSeqFound === resumed.report.durableSeq,
      `through ${lastSeqFound}`,
    ),
    check(
      'the orderly restart has its boundary too',
      boundarySeqs.length === 2 && boundarySeqs[1] === lastSeqFound + 1,
      `at ${boundarySeqs.join(', ')}`,
    ),
    check('the facts outlived that restart', missingFacts.length === 0, missingFacts.join(' | ')),
    check(
      'opening it twice more without a word added nothing',
      !grown,
      untouched.map(({ eventCount }) => eventCount).join(', '),
    ),
  ]
}

function checkOff({ stateless, killed }: Story): Check[] {
  const { report, touched } = stateless
  const { eventCount, transcriptDigest, compactStartSeq } = killed.report
  const recordedCount = eventCount - (compactStartSeq === undefined ? 0 : 1)
  return [
    check(
      'with persistence off C records the same, in memory',
      isSame(),
      `${report.state}, ${report.sessionKind}, ${report.eventCount}`,
    ),
    check(
      'C touched no file: neither a stored session nor its own empty folder',
      touched.length === 0,
      touched.join('\n'),
    ),
    check('C is refused to resume, as DISABLED', report.resumeCode === 'DISABLED', report.resumeCode),
    check('C ended in an orderly way', stateless.exit.code === 0),
  ]

  function isSame(): boolean {
    const isOff = report.state === 'off' && report.sessionKind === 'memory'
    return isOff && report.eventCount === recordedCount && report.transcriptDigest === transcriptDigest
  }
}

/** The detail is told only of what failed. */
function check(title: string, holds: boolean, detail?: string): Check {
  return holds ? { title, outcome: 'ok' } : { title, outcome: 'FAILED', ...(detail && { detail }) }
}

function skipped(title: string, detail: string): Check {
  return { title, outcome: 'skipped', detail }
}
