import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import type { Codec } from '../../journal/port.ts'

/** At once, so that the same calls come in the same order. */
export const immediateCodec: Codec = {
  compress: async (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  expand: async (packed, sizeBytesMax) => brotliDecompressSync(packed, { maxOutputLength: sizeBytesMax }),
}
