import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as zlib from 'node:zlib'
import { median } from './numbers.mjs'

// What codecs make of real transcripts: `node bench/codecs.mjs <folder> [codec …]`, with a Node of 22.15 or later
// for zstd.
// Each file's text is cut into blocks as packs are, and each block is packed by itself.
const blockSizeBytes = 2_097_152
const windowBits = 21
const rounds = 3
const { constants } = zlib

const codecs = [
  ...[1, 6, 9].map((level) => ({
    name: `gzip ${level}`,
    pack: (text) => zlib.gzipSync(text, { level }),
    unpack: zlib.gunzipSync,
  })),
  ...[1, 3, 4, 5, 6, 9].map((quality) => ({
    name: `brotli ${quality}`,
    pack: (text) => zlib.brotliCompressSync(text, { params: brotliParams(quality, text) }),
    unpack: zlib.brotliDecompressSync,
  })),
  ...(zlib.zstdCompressSync ? [1, 3, 9, 19] : []).map((level) => ({
    name: `zstd ${level}`,
    pack: (text) => zlib.zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: level } }),
    unpack: zlib.zstdDecompressSync,
  })),
]

function brotliParams(quality, text) {
  return {
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_LGWIN]: windowBits,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  }
}

/** Processor time of this process, of all its threads, for some work. */
function timed(work) {
  const before = process.cpuUsage()
  const result = work()
  const { user, system } = process.cpuUsage(before)
  return { result, millis: (user + system) / 1_000 }
}

function measure({ pack, unpack }, blocks) {
  const sizeBytes = blocks.reduce((sum, block) => sum + block.length, 0)
  const packing = []
  const unpacking = []
  let packedBytes = 0
  for (let round = 0; round < rounds; round++) {
    const { result: packed, millis } = timed(() => blocks.map(pack))
    const back = timed(() => packed.map((each) => unpack(each)))
    if (back.result.some((text, index) => !text.equals(blocks[index])))
      throw new Error('what was unpacked is not what was packed')
    packedBytes = packed.reduce((sum, block) => sum + block.length, 0)
    packing.push(millis)
    unpacking.push(back.millis)
  }
  const perMb = (values) => (median(values) / (sizeBytes / 1e6)).toFixed(1)
  return [(packedBytes / sizeBytes).toFixed(3), perMb(packing), perMb(unpacking)]
}

function blocksIn(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.jsonl'))
  const texts = names.sort().map((name) => readFileSync(join(folder, name)))
  return texts.flatMap((text) =>
    Array.from({ length: Math.ceil(text.length / blockSizeBytes) }, (_, index) =>
      text.subarray(index * blockSizeBytes, (index + 1) * blockSizeBytes),
    ),
  )
}

const [folder, ...only] = process.argv.slice(2)
if (folder === undefined) {
  console.error('Usage: node bench/codecs.mjs <folder with .jsonl files> ["brotli 5" …]')
  process.exitCode = 2
} else {
  const blocks = blocksIn(folder)
  console.log(`Node ${process.version}, ${blocks.length} blocks of at most ${blockSizeBytes} bytes\n`)
  console.log('| codec | ratio | ms/MB to pack | ms/MB to unpack |\n| --- | --- | --- | --- |')
  const wanted = codecs.filter(({ name }) => only.length === 0 || only.includes(name))
  for (const codec of wanted) console.log(`| ${[codec.name, ...measure(codec, blocks)].join(' | ')} |`)
}
