/** An extension of MessagePack, as it stands in the bytes. */
export interface Extension {
  readonly type: number
  readonly bytes: Buffer
}

type Scope = [value: unknown, end: number]

/** One value of MessagePack, read by its specification; maps become entries. */
export function unpack(bytes: Buffer): unknown {
  const [value, end] = valueAt(bytes, 0)
  if (end !== bytes.length) throw new Error('more than one value')
  return value
}

/** A map that was unpacked, by its keys. */
export function fieldsOf(value: unknown): Map<string, unknown> {
  return value as Map<string, unknown>
}

function valueAt(bytes: Buffer, at: number): Scope {
  const mark = bytes.readUInt8(at)
  if (mark < 0x80) return [mark, at + 1]
  if (mark < 0x90) return mapAt(bytes, at + 1, mark & 0x0f)
  if (mark < 0xa0) return listAt(bytes, at + 1, mark & 0x0f)
  if (mark < 0xc0) return textAt(bytes, at + 1, mark & 0x1f)
  if (mark >= 0xe0) return [mark - 0x100, at + 1]
  return markedAt(bytes, at + 1, mark)
}

function markedAt(bytes: Buffer, at: number, mark: number): Scope {
  const sized = (lengthBytes: number): [number, number] => [
    bytes.readUIntBE(at, lengthBytes),
    at + lengthBytes,
  ]
  switch (mark) {
    case 0xc0:
      return [null, at]
    case 0xc2:
    case 0xc3:
      return [mark === 0xc3, at]
    case 0xc4:
    case 0xc5:
    case 0xc6: {
      const [length, from] = sized(2 ** (mark - 0xc4))
      return [bytes.subarray(from, from + length), from + length]
    }
    case 0xc7:
    case 0xc8:
    case 0xc9: {
      const [length, from] = sized(2 ** (mark - 0xc7))
      return extensionAt(bytes, from, length)
    }
    case 0xcb:
      return [bytes.readDoubleBE(at), at + 8]
    case 0xcc:
    case 0xcd:
    case 0xce:
      return sized(2 ** (mark - 0xcc))
    case 0xcf:
      return [Number(bytes.readBigUInt64BE(at)), at + 8]
    case 0xd0:
    case 0xd1:
    case 0xd2: {
      const lengthBytes = 2 ** (mark - 0xd0)
      return [bytes.readIntBE(at, lengthBytes), at + lengthBytes]
    }
    case 0xd3:
      return [Number(bytes.readBigInt64BE(at)), at + 8]
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
      return extensionAt(bytes, at, 2 ** (mark - 0xd4))
    case 0xd9:
    case 0xda:
    case 0xdb: {
      const [length, from] = sized(2 ** (mark - 0xd9))
      return textAt(bytes, from, length)
    }
    case 0xdc:
    case 0xdd: {
      const [length, from] = sized(mark === 0xdc ? 2 : 4)
      return listAt(bytes, from, length)
    }
    case 0xde:
    case 0xdf: {
      const [length, from] = sized(mark === 0xde ? 2 : 4)
      return mapAt(bytes, from, length)
    }
    default:
      throw new Error(`no mark of MessagePack: ${mark}`)
  }
}

function textAt(bytes: Buffer, at: number, length: number): Scope {
  return [bytes.toString('utf8', at, at + length), at + length]
}

function extensionAt(bytes: Buffer, at: number, length: number): Scope {
  const from = at + 1
  return [{ type: bytes.readInt8(at), bytes: bytes.subarray(from, from + length) }, from + length]
}

function listAt(bytes: Buffer, at: number, length: number): Scope {
  const list: unknown[] = []
  let end = at
  while (list.length < length) {
    const [value, next] = valueAt(bytes, end)
    list.push(value)
    end = next
  }
  return [list, end]
}

function mapAt(bytes: Buffer, at: number, length: number): Scope {
  const map = new Map<unknown, unknown>()
  const [pairs, end] = listAt(bytes, at, length * 2)
  const list = pairs as unknown[]
  for (let index = 0; index < list.length; index += 2) map.set(list[index], list[index + 1])
  return [map, end]
}

/** Numbers, texts, bytes, lists and maps; each in its longest form, which is as legal as the shortest. */
export function pack(value: unknown): Buffer {
  if (value === null) return Buffer.of(0xc0)
  if (typeof value === 'boolean') return Buffer.of(value ? 0xc3 : 0xc2)
  if (typeof value === 'number') return headed(0xd3, BigInt(value))
  if (typeof value === 'string')
    return Buffer.concat([headed(0xdb, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([headed(0xc6, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([headed(0xdd, value.length), ...value.map(pack)])
  const entries =
    value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value as object)
  return Buffer.concat([headed(0xdf, entries.length), ...entries.flat().map(pack)])
}

function headed(mark: number, size: number | bigint): Buffer {
  const bytes = Buffer.alloc(typeof size === 'bigint' ? 9 : 5, mark)
  if (typeof size === 'bigint') bytes.writeBigInt64BE(size, 1)
  else bytes.writeUInt32BE(size, 1)
  return bytes
}
