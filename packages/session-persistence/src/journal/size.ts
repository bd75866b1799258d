/** Bytes in one batch, its commit line included. */
export const batchSizeBytesMax = 8_388_608

/** A segment that has more bytes is followed by another one, unless a storage is told otherwise. */
export const segmentSizeBytesMax = 16_777_216

/** Bytes in a header line. It holds the host's `meta`. */
export const headerSizeBytesMax = 262_144
