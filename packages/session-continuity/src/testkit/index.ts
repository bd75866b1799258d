// What a store of continuity promises.
export { storeContract } from './store-contract.ts'
export type { StorePlace } from './fact.ts'
