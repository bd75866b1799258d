/** The format this version writes, and the newest it reads. */
export const formatVersion = 1
