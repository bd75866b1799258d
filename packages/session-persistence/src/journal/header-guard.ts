import { formatVersion } from './format-version.ts'
import { isDigest, isRecord, isText, isWhole } from './guard.ts'

/**
 * Whether a header is one of the plain ones that nearly all segments have. Its yes means that the schema accepts; its
 * no means nothing: then the schema is asked.
 */
export function isPlainHeader(fields: unknown): boolean {
  if (!isRecord(fields)) return false
  const { format, session, epoch, rotation, firstSeq, salt, writer, socket, predecessor, firstTo } = fields
  return (
    format === formatVersion &&
    isPlainSession(session) &&
    isWhole(epoch, 1) &&
    isWhole(rotation, 0) &&
    isWhole(firstSeq, 0) &&
    isText(salt) &&
    isPlainWriter(writer) &&
    (socket === undefined || typeof socket === 'string') &&
    (predecessor === undefined || isPredecessor(predecessor)) &&
    (firstTo === undefined || isWhole(firstTo, -1)) &&
    fields['forked'] === undefined &&
    fields['carried'] === undefined &&
    fields['recovered'] === undefined
  )
}

function isPlainSession(session: unknown): boolean {
  if (!isRecord(session)) return false
  const { id, createdAt, parent, forkedAt, salvaged, meta } = session
  const isOrphan = parent === undefined && forkedAt === undefined && salvaged === undefined
  return isOrphan && isText(id) && Number.isFinite(createdAt) && (meta === undefined || isRecord(meta))
}

function isPlainWriter(writer: unknown): boolean {
  if (!isRecord(writer)) return false
  const { incarnation, pid, host, bootId, startedAt, enabledBy, carry } = writer
  return (
    typeof incarnation === 'string' &&
    Number.isSafeInteger(pid) &&
    typeof host === 'string' &&
    (bootId === null || typeof bootId === 'string') &&
    Number.isFinite(startedAt) &&
    (enabledBy === 'config' || enabledBy === 'env') &&
    carry === undefined
  )
}

function isPredecessor(predecessor: unknown): boolean {
  if (!isRecord(predecessor)) return false
  const { segment, bytes, seq, digest } = predecessor
  return typeof segment === 'string' && isWhole(bytes, 0) && isWhole(seq, -1) && isDigest(digest)
}
