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

/**
 * Room for all of the output at once: else each piece of 16 KiB is a way to another thread and back, and is copied once
 * more. It is a little more than the output takes, since what fills its room is asked whether there is more.
 */
function outputSizeBytes(sizeBytes: number): number {
  return Math.min(Math.ceil(sizeBytes), blockSizeBytes) + 64
}

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
      const chunkSize = outputSizeBytes(text.length / 2)
      brotliCompress(text, { params, chunkSize }, (error, packed) =>
        error ? reject(error) : resolve(packed),
      )
    }),
  expand: async (packed, sizeBytesMax) => {
    if (packed.length <= shortSizeBytes)
      return brotliDecompressSync(packed, { maxOutputLength: sizeBytesMax })
    const options = { maxOutputLength: sizeBytesMax, chunkSize: outputSizeBytes(sizeBytesMax) }
    return new Promise((resolve, reject) => {
      brotliDecompress(packed, options, (error, text) => (error ? reject(error) : resolve(text)))
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
