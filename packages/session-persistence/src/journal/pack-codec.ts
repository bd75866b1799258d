import { brotliCompress, brotliDecompress, brotliDecompressSync, constants } from 'node:zlib'
import type { Codec, JournalPort } from './port.ts'

/** Text in one block. A reader expands whole blocks; in smaller ones less of what repeats is in reach. */
export const blockSizeBytes = 2_097_152

/** Measured on transcripts: a higher quality takes half as long again, for one byte in a hundred. */
const quality = 5

/** Matches reach as far back as a block is long: 2^21. */
const windowBits = 21

/** Packed bytes that are expanded at once, as the index of a pack is: that takes less time than the way to another thread. */
const shortSizeBytes = 16_384

/** Works in the thread pool, and not in the event loop. Every Node that is supported reads what it writes. */
const brotli: Codec = {
  compress: (text) =>
    new Promise((resolve, reject) => {
      const params = {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_QUALITY]: quality,
        [constants.BROTLI_PARAM_LGWIN]: windowBits,
        [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
      }
      brotliCompress(text, { params }, (error, packed) => (error ? reject(error) : resolve(packed)))
    }),
  expand: async (packed, sizeBytesMax) => {
    if (packed.length <= shortSizeBytes)
      return brotliDecompressSync(packed, { maxOutputLength: sizeBytesMax })
    return new Promise((resolve, reject) => {
      brotliDecompress(packed, { maxOutputLength: sizeBytesMax }, (error, text) =>
        error ? reject(error) : resolve(text),
      )
    })
  },
}

/** The codec that a port brings along, or Brotli. */
export function codecOf({ codec = brotli }: Pick<JournalPort, 'codec'>) {
  return {
    compress: async (text: Uint8Array): Promise<Buffer> => viewOf(await codec.compress(text)),
    expand: async (packed: Uint8Array, sizeBytesMax: number): Promise<Buffer> =>
      viewOf(await codec.expand(packed, sizeBytesMax)),
  }
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length)
}
