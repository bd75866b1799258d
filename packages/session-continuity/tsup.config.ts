import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts', 'src/cordis.ts', 'src/deepseek.ts', 'src/testkit/index.ts'],
  format: 'esm',
  target: 'node20',
  outDir: 'lib',
  dts: true,
  sourcemap: true,
  clean: true,
})
