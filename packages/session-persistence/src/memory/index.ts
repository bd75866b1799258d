export { MemoryStorage } from './storage.ts'
export { Config, apply, name } from './plugin.ts'
