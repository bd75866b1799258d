/** Bytes in one batch, its commit line included. */
export const batchSizeBytesMax = 8_388_608

/** Bytes in a header line. It holds the host's `meta`. */
export const headerSizeBytesMax = 262_144
